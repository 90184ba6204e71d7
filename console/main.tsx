/** The start of the console in a browser.
 *  It must never do anything but join its parts. */
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './data/queries.ts';
import { createPages } from './routes.tsx';
import './styles/tokens.css';
import './styles/base.css';

const place = document.querySelector('#root');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      {/* The policy allows no style element. */}
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={createQueries()}>
          <RouterProvider router={createPages()} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
