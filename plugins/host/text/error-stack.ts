import { pathToFileURL } from 'node:url';
import { hostFolders } from './host-folders.ts';

/** Frames that V8 keeps of an error's stack; more are kept while a plugin is loaded. */
export const usualFrames: number = Error.stackTraceLimit;

/** True when a function of a plugin's file is on the stack; `folder` is the real path of the plugin's folder. */
export function isFromFolder(stack: string, folder: string): boolean {
  return stack.split('\n').some((line) => isLineOf(line, folder));
}

/** Files of the host belong to the host, even if it is in the plugin's node_modules. */
function isLineOf(line: string, folder: string): boolean {
  if (!isBelow(line, folder)) return false;
  return !hostFolders().some((each) => each.startsWith(`${folder}/`) && isBelow(line, each));
}

function isBelow(line: string, folder: string): boolean {
  return line.includes(`${folder}/`) || line.includes(`${pathToFileURL(folder).href}/`);
}

/**
 * True when the call that ended with an exception began in the folder: the outermost function on the stack, apart from
 * Node's own, is in the folder. If V8 has cut the stack, all remaining functions must be in the folder.
 */
export function isBegunInFolder(stack: string, folder: string): boolean {
  const calls = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const others = calls.filter((line) => !/\(?node:[^)]*\)?$|\(<anonymous>\)$|\(native\)$/.test(line));
  const isWhole = calls.length < usualFrames;
  const outermost = others.at(-1);
  if (outermost === undefined) return false;
  return isWhole ? isLineOf(outermost, folder) : others.every((line) => isLineOf(line, folder));
}

/** Returns the place in the folder where an error was thrown, from its stack: `dist/index.js:7`. */
export function placeInFolder({ stack = '' }: Pick<Error, 'stack'>, folder: string): string | undefined {
  const beginnings = [`${pathToFileURL(folder).href}/`, `${folder}/`];
  for (const line of stack.split('\n')) {
    const beginning = isLineOf(line, folder) ? beginnings.find((each) => line.includes(each)) : undefined;
    // The URL of code that was loaded again has a query.
    const [, file, number] = /^([^?:]+)(?:\?[^:]*)?:(\d+)/.exec(line.split(beginning ?? '\n')[1] ?? '') ?? [];
    if (file !== undefined) return `${file}:${number}`;
  }
  return undefined;
}
