/** The program: `node src/main.ts <verb>` is `adjutant <verb>`.
 *  It must never hold logic: the verbs are in cli/, and service.ts composes the service. */
import './cli/main.ts';
