/** Writes the tables of docs/configuration.md from the schemas, or with --check reports whether they are out of date.
 *  It must not describe a key: its schema does. */
import { CONFIGURATION_PAGE, configurationPage } from './configuration-page.ts';
import { generatePage } from './generated-page.ts';

await generatePage(CONFIGURATION_PAGE, configurationPage);
