import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';
import { HttpConnection } from './http-load.ts';

export interface PacedLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Returns the next request, in the format of `formatRequest`. */
  readonly request: () => string;
}

/**
 * Sends requests at a rate that does not depend on the responses. The latency of a request is counted from the time
 * when the request was due. So a pause of the server counts in all requests that were due during the pause.
 */
export async function loadPaced({ url, connections, seconds, perSecond, request }: PacedLoad): Promise<Figures> {
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.connect(url)));
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const total = Math.floor(seconds * perSecond);
  let next = 0;
  const converse = async (connection: HttpConnection): Promise<void> => {
    while (next < total) {
      const dueMs = startMs + (next++ * 1000) / perSecond;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs)));
      await connection.send(request());
      latenciesMs.push(performance.now() - dueMs);
    }
  };
  try {
    await Promise.all(open.map(converse));
  } finally {
    for (const connection of open) connection[Symbol.dispose]();
  }
  return figuresOf(Float64Array.from(latenciesMs), performance.now() - startMs);
}
