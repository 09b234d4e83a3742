import { definePlugin } from 'homeostat';
import { Digest } from './digest.ts';

/** The part that the server needs: the kind. The controller is in main.ts, and runs elsewhere. */
export default definePlugin({ models: [Digest] });
