import type { Run, RunTrigger } from '@homeostat/controller-runtime/api';
import { printable } from './print.ts';
import { durationText } from './relative-time.ts';

export const runHeaders: readonly string[] = 'TIME OBJECT RESULT ATTEMPT WAIT DURATION WRITES TRIGGER ERROR'.split(' ');

/** Returns a run as the cells of a table, in the order of {@link runHeaders}. */
export function runCells(run: Run): readonly string[] {
  const {
    object,
    startTime,
    result,
    attempt,
    waitMs,
    durationMs,
    writes = [],
    omittedWrites = 0,
    triggers,
    error,
  } = run;
  const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
  const [trigger] = triggers;
  return [
    startTime.replace('T', ' ').replace('Z', ''),
    name,
    result,
    String(attempt),
    durationText(waitMs),
    durationText(durationMs),
    String(writes.length + omittedWrites),
    trigger === undefined ? '' : triggerText(trigger),
    error === undefined ? '' : (error.message.split('\n')[0] ?? ''),
  ].map(printable);
}

/** Returns the trigger of a run as a text such as `event MODIFIED by kubectl-edit`. */
export function triggerText({ type, detail = '', manager }: RunTrigger): string {
  return [type, detail, manager === undefined ? '' : `by ${manager}`].filter((part) => part !== '').join(' ');
}
