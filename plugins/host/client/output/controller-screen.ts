import type { ControllerObject } from '@homeostat/controller-runtime/api';
import { formatTable } from '../../text/format-table.ts';
import { printable } from './print.ts';
import { ageOf, durationText, untilTime } from './relative-time.ts';

const headers: readonly string[] = [
  'CONTROLLER',
  'KIND',
  'READY',
  'RUNNING',
  'DELAYED',
  'FAILING',
  'PARKED',
  'PAUSED',
  'RUNS/S',
  'ERRORS/S',
  'WAIT P50',
  'P99',
  'RUN P50',
  'P99',
  'STATE',
];

/** Returns a table of controllers, in the given order. */
export function controllersTable(controllers: readonly ControllerObject[]): string {
  return formatTable([headers, ...controllers.map(controllerCells)]);
}

function controllerCells({ spec, status }: ControllerObject): readonly string[] {
  const { reconciles } = spec;
  const controller = nameOf(spec);
  if (status === undefined) return [controller, reconciles.kind, ...Array<string>(12).fill(''), 'starting'];
  const { queue, rates, waitMs, durationMs, problem, running } = status;
  const { ready, processing, delayed, failing, parked, paused } = queue;
  const counts = [ready, processing, delayed, failing, parked, paused].map(String);
  const times = [waitMs?.p50, waitMs?.p99, durationMs?.p50, durationMs?.p99];
  const shown = times.map((ms) => (ms === undefined ? '' : durationText(ms)));
  const state = running ? (problem ?? 'running') : 'stopped';
  return [controller, reconciles.kind, ...counts, String(rates.runs), String(rates.errors), ...shown, printable(state)];
}

/** Returns the name of a controller; for a shard, followed by the number of the shard. */
function nameOf({ controller, shard }: ControllerObject['spec']): string {
  return shard === undefined ? controller : `${controller}#${shard.index}`;
}

/** Returns a table of the keys that a controller, or its shards, have reported. */
export function keysTable(controllers: readonly ControllerObject[], nowMs: number): string {
  const rows = controllers
    .flatMap(({ status }) => status?.keys ?? [])
    .map(({ key, state, attempts, failingSince, nextTime, lastError = '' }) =>
      [key, state, String(attempts), ageOf(failingSince, nowMs), untilTime(nextTime, nowMs), firstLine(lastError)].map(
        printable,
      ),
    );
  if (rows.length === 0) return '';
  return formatTable([['KEY', 'STATE', 'ATTEMPTS', 'FAILING FOR', 'NEXT', 'LAST ERROR'], ...rows]);
}

/**
 * Returns the screen of `top`: the controllers, those with problems and busy ones first, and the failing and parked
 * keys. The screen fits a terminal with this number of rows and columns. Without a terminal, both numbers are infinite.
 */
export function topScreen(
  controllers: readonly ControllerObject[],
  { nowMs, rows, columns }: { readonly nowMs: number; readonly rows: number; readonly columns: number },
): string {
  const ordered = controllers.toSorted((a, b) => urgencyOf(b) - urgencyOf(a));
  const lines = controllersTable(ordered).trimEnd().split('\n');
  const failing = ordered.flatMap((controller) => failingRows(controller, nowMs));
  const table =
    failing.length === 0
      ? ['Nothing fails.']
      : formatTable([failingHeaders, ...failing])
          .trimEnd()
          .split('\n');
  const time = new Date(nowMs).toISOString().slice(11, 19);
  const hint = Number.isFinite(rows) ? '; q quits' : '';
  const title = `homeostat top, ${time} UTC, ${controllers.length} ${controllers.length === 1 ? 'controller' : 'controllers'}${hint}`;
  return [title, '', ...lines, '', ...table]
    .slice(0, Math.max(1, rows - 1))
    .map((line) => line.slice(0, columns))
    .join('\n');
}

const failingHeaders: readonly string[] = [
  'CONTROLLER',
  'KEY',
  'STATE',
  'ATTEMPTS',
  'FAILING FOR',
  'NEXT',
  'LAST ERROR',
];

function failingRows({ spec, status }: ControllerObject, nowMs: number): readonly (readonly string[])[] {
  return (status?.keys ?? [])
    .filter(({ attempts, state }) => attempts > 0 || state === 'parked')
    .map(({ key, state, attempts, failingSince, nextTime, lastError = '' }) => [
      nameOf(spec),
      key,
      state,
      String(attempts),
      ageOf(failingSince, nowMs),
      untilTime(nextTime, nowMs),
      printable(firstLine(lastError)),
    ]);
}

function urgencyOf({ status }: ControllerObject): number {
  if (status === undefined) return 0;
  const { queue, rates, problem } = status;
  return (problem === undefined ? 0 : 1e9) + (queue.failing + queue.parked) * 1e4 + rates.runs + queue.ready / 1e3;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
