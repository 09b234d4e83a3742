import { pathToFileURL } from 'node:url';

/** Whether a function of a file in the folder (a real path) is on the stack. */
export function isFromFolder(stack: string, folder: string): boolean {
  return stack.includes(`${folder}/`) || stack.includes(`${pathToFileURL(folder).href}/`);
}

/**
 * Whether all of what an exception unwound began in the folder: the outermost function that is not Node's own is in it. Of
 * a stack that is longer than what V8 keeps of it, all that is kept has to be.
 */
export function isBegunInFolder(stack: string, folder: string): boolean {
  const calls = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const others = calls.filter((line) => !/\(?node:[^)]*\)?$|\(<anonymous>\)$|\(native\)$/.test(line));
  const isWhole = calls.length < Error.stackTraceLimit;
  const outermost = others.at(-1);
  if (outermost === undefined) return false;
  return isWhole ? isFromFolder(outermost, folder) : others.every((line) => isFromFolder(line, folder));
}
