import { definePlugin } from 'homeostat';
import { Digest } from './digest.ts';

/** Registers only the kind. The controller runs in a process of its own, which main.ts starts. */
export default definePlugin({ models: [Digest] });
