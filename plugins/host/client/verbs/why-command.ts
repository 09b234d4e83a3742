import type { Explanation, Run } from '@homeostat/controller-runtime/api';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { formatTable } from '../../text/format-table.ts';
import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { readTarget } from '../object-arguments.ts';
import { ServerRefusal } from '../object-server.ts';
import { readRuns } from '../observed-kinds.ts';
import { print, printable } from '../output/print.ts';
import { ageOf, durationText, untilTime } from '../output/relative-time.ts';
import { triggerText } from '../output/run-lines.ts';

/** The maximum number of runs that are shown. */
const shownRuns = 5;

/** `homeostat why`: explains the state of an object on one screen. */
export async function explainWhy(command: ClientCommand): Promise<void> {
  const output = textFlag(command.flags, 'output') ?? 'text';
  if (output !== 'text' && output !== 'json') throw new CommandError(`-o: must be text or json, not "${output}"`, 2);
  const { path } = await readTarget(command);
  const explanation: unknown = await command.server.send('GET', `${path}/explanation`);
  if (!isExplanation(explanation))
    throw new Error('the server sent no Explanation: is the server older than this command?');
  if (output === 'json') return print(`${JSON.stringify(explanation, undefined, 4)}\n`);
  await print(explanationText(explanation, await lastRuns(command, explanation), Date.now()));
}

function isExplanation(value: unknown): value is Explanation {
  return isJsonObject(value) && value['kind'] === 'Explanation';
}

/**
 * Resolves with the last runs of the object. If the user may not read runs, resolves with none; the explanation's
 * `details` then say so.
 */
async function lastRuns({ server }: ClientCommand, { object }: Explanation): Promise<readonly Run[]> {
  const query = { fieldSelector: `object.uid=${object.uid ?? ''}`, sort: 'startTime,desc', size: String(shownRuns) };
  try {
    return (await readRuns(server, query, object.namespace ?? 'default')).runs;
  } catch (error) {
    if (error instanceof ServerRefusal && error.code === 403) return [];
    throw error;
  }
}

/** Returns the screen: the object, then the most important sentence about it, then the details. */
export function explanationText(explanation: Explanation, runs: readonly Run[], nowMs: number): string {
  const { object, state, summary, details, finalizers, conditions, controllers, generation } = explanation;
  const { observedGeneration } = explanation;
  const observed = observedGeneration === undefined ? '' : `, observed ${observedGeneration}`;
  const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
  const parts = [
    `${object.kind} ${name} (${object.apiVersion}), generation ${generation}${observed}\n`,
    `${state}: ${printable(summary)}\n`,
    section(
      'Finalizers',
      finalizers.map((each) => [`${each.name}:`, printable(each.message)]),
    ),
    section(
      'Conditions',
      conditions.map(({ type, status, reason, message, lastTransitionTime }) =>
        [type, status, ageOf(lastTransitionTime, nowMs), reason, message].map(printable),
      ),
    ),
    section(
      'Controllers',
      controllers.map((each) => [each.controller, controllerText(each, nowMs)]),
    ),
    section(
      'Last runs',
      runs.map(({ startTime, result, durationMs, triggers: [trigger], error }) =>
        [
          `${ageOf(startTime, nowMs)} ago`,
          result,
          durationText(durationMs),
          trigger === undefined ? '' : triggerText(trigger),
          error?.message.split('\n')[0] ?? '',
        ].map(printable),
      ),
    ),
    section(
      'Also',
      details.filter((each) => !each.startsWith('The last run of')).map((each) => [printable(each)]),
    ),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function section(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const lines = formatTable(rows).replaceAll(/^(?=.)/gm, '  ');
  return `${title}\n${lines}`;
}

function controllerText({ running, paused, key }: Explanation['controllers'][number], nowMs: number): string {
  if (!running) return 'does not run';
  if (paused) return 'is paused for this object';
  if (key === undefined) return 'has no work for this object';
  const noun = key.attempts === 1 ? 'attempt' : 'attempts';
  const attempts = key.attempts === 0 ? '' : `, ${key.attempts} ${noun} without success`;
  const next = key.nextTime === undefined ? '' : `, next ${untilTime(key.nextTime, nowMs)}`;
  return `${key.state}${attempts}${next}`;
}
