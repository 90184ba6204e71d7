/** What a page of the console weighs: elements of its document, bytes of its heap after a collection.
 *  It must not count what a collection would free. */
import type { Page } from 'playwright-core';

export interface PageWeight {
  readonly elements: number;
  readonly heapBytes: number;
}

export async function weigh(page: Page): Promise<PageWeight> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const elements = await page.evaluate<number>('document.getElementsByTagName("*").length');
    return { elements, heapBytes: usedSize };
  } finally {
    await session.detach();
  }
}
