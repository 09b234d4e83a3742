import { pathToFileURL } from 'node:url';
import { hostFolders } from './host-folders.ts';

/** The number of stack frames that V8 keeps of an error. While a plugin is being loaded, the number is larger. */
export const usualFrames: number = Error.stackTraceLimit;

/** True when a function in a plugin's file is on the stack. `folder` is the real path of the plugin's folder. */
export function isFromFolder(stack: string, folder: string): boolean {
  return stack.split('\n').some((line) => isLineOf(line, folder));
}

/**
 * True when a stack line names a file of the plugin. Files of the host do not count, even if the host is in the
 * plugin's node_modules.
 */
function isLineOf(line: string, folder: string): boolean {
  if (!isBelow(line, folder)) return false;
  return !hostFolders().some((each) => each.startsWith(`${folder}/`) && isBelow(line, each));
}

function isBelow(line: string, folder: string): boolean {
  return line.includes(`${folder}/`) || line.includes(`${pathToFileURL(folder).href}/`);
}

/**
 * True when the outermost function on the stack of an exception, except Node's own functions, is in the folder. If V8
 * has cut off the stack, all remaining functions must be in the folder.
 */
export function isBegunInFolder(stack: string, folder: string): boolean {
  const calls = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const others = calls.filter((line) => !/\(?node:[^)]*\)?$|\(<anonymous>\)$|\(native\)$/.test(line));
  const isWhole = calls.length < usualFrames;
  const outermost = others.at(-1);
  if (outermost === undefined) return false;
  return isWhole ? isLineOf(outermost, folder) : others.every((line) => isLineOf(line, folder));
}

/**
 * Returns the file and line of the first stack frame in the folder, such as `dist/index.js:7`; undefined if no frame of
 * the stack is in the folder.
 */
export function placeInFolder({ stack = '' }: Pick<Error, 'stack'>, folder: string): string | undefined {
  const beginnings = [`${pathToFileURL(folder).href}/`, `${folder}/`];
  for (const line of stack.split('\n')) {
    const beginning = isLineOf(line, folder) ? beginnings.find((each) => line.includes(each)) : undefined;
    // A module that was loaded again has a query in its URL.
    const [, file, number] = /^([^?:]+)(?:\?[^:]*)?:(\d+)/.exec(line.split(beginning ?? '\n')[1] ?? '') ?? [];
    if (file !== undefined) return `${file}:${number}`;
  }
  return undefined;
}
