import { definePlugin } from 'homeostat';
import { Digest } from './digest.ts';

/** What the server needs to know: the kind. The controller is in main.ts, and runs elsewhere. */
export default definePlugin({ models: [Digest] });
