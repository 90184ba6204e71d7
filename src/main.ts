/** The program: `node src/main.ts <verb>` is `adjutant <verb>`.
 *  It must never hold anything of its own: the verbs live in cli/, the parts are joined in service.ts. */
import './cli/main.ts';
