import { applyDefinition, HostileProcess, listOfKind } from '@homeostat/test';
import type { CaseContext } from '../../measure/case.ts';
import type { Row } from '../../measure/result-table.ts';

/** The number of definitions that a usual run creates at the same time. */
const usual = 300;
/** The number of definitions that a quick run creates at the same time. */
const quick = 20;

/** The number of fields of each definition. */
const leaves = 120;

const mostSeconds = 30;
const mostStallMs = 50;
const mostBytes = 1.5 * 1024 * 1024;

/**
 * Measures many definitions that are created at the same time: the time until all are served, the longest pause of the
 * event loop during this time, and the memory for each definition.
 */
export async function definitions({ settings }: CaseContext): Promise<readonly Row[]> {
  const count = settings.definitions < usual / 2 ? quick : usual;
  const kinds = Array.from({ length: count }, (_, number) => `Bulk${number.toString()}`);
  const server = await HostileProcess.start();
  try {
    const before = await server.call('heldBytes');
    await server.call('takeLongestMs');
    const sinceMs = performance.now();
    await Promise.all(kinds.map(async (kind) => server.send(applyDefinition(kind, leaves))));
    for (const kind of kinds) await isServed(server, kind);
    const seconds = (performance.now() - sinceMs) / 1000;
    const stallMs = await server.call('takeLongestMs');
    const bytes = ((await server.call('heldBytes')) - before) / count;
    const name = `${count.toString()} definitions created at once`;
    return [
      row(`${name}: time until the server serves all of them`, `<= ${mostSeconds.toString()} s`, {
        isMet: seconds <= mostSeconds,
        note: `${seconds.toFixed(1)} s`,
      }),
      row(`${name}: longest turn of the server's event loop meanwhile`, `<= ${mostStallMs.toString()} ms`, {
        isMet: stallMs <= mostStallMs,
        note: `${stallMs.toFixed(1)} ms`,
      }),
      row(`${name}: memory of the server for each definition`, '<= 1.5 MB', {
        isMet: bytes <= mostBytes,
        note: `${(bytes / 1024 / 1024).toFixed(2)} MB`,
      }),
    ];
  } finally {
    await server.stop();
  }
}

function row(name: string, text: string, { isMet, note }: { readonly isMet: boolean; readonly note: string }): Row {
  return { name, target: { text, isMet }, note };
}

async function isServed(server: HostileProcess, kind: string): Promise<void> {
  const untilMs = performance.now() + mostSeconds * 4 * 1000;
  while ((await server.send(listOfKind(kind))).status !== 200) {
    if (performance.now() > untilMs) throw new Error(`${kind} is not served`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
