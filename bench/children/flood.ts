// A client that sends as many requests as it can. It is a separate process, so that it does not slow down the measured
// client.
import { answerCalls } from '../processes/answer-calls.ts';
import { formatRequest, loadHttp } from '../load/http-load.ts';
import { newPerson, personsPath } from '../load/person.ts';

/**
 * The creates of the flood: their URL, the token of their user, their duration, and the number of connections that send
 * them.
 */
export interface Flood {
  readonly url: string;
  readonly token: string;
  readonly connections: number;
  readonly seconds: number;
}

let number = 0;

answerCalls({
  /** Resolves at the end with the number of creates per second. */
  run: async ({ url, token, connections, seconds }: Flood) => {
    const request = (): string => {
      number += 1;
      const body = JSON.stringify(newPerson({ name: `flood-${number.toString()}`, number }));
      return formatRequest('POST', personsPath, { body, token });
    };
    return (await loadHttp({ url, connections, seconds, request })).opsPerSecond;
  },
});
