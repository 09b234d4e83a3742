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

/** Where in the folder an error was thrown, as far as its stack tells: `dist/index.js:7`. */
export function placeInFolder({ stack = '' }: Error, folder: string): string | undefined {
  const beginnings = [`${pathToFileURL(folder).href}/`, `${folder}/`];
  for (const line of stack.split('\n')) {
    const beginning = beginnings.find((each) => line.includes(each));
    // Code that was loaded anew has a query.
    const [, file, number] = /^([^?:]+)(?:\?[^:]*)?:(\d+)/.exec(line.split(beginning ?? '\n')[1] ?? '') ?? [];
    if (file !== undefined) return `${file}:${number}`;
  }
  return undefined;
}
