import { BodyCodec } from '../decode/body-codec.ts';
import { AnswerMemory } from '../http/response/answer-memory.ts';
import { ResourceHandler } from '../http/objects/resource-handler.ts';
import { TrustedProxies } from '../http/request/trusted-proxies.ts';
import { WatchHandler } from '../http/watch/watch-handler.ts';
import type { Lister } from '../registry/reads/lister.ts';
import type { Registry } from '../registry/registry.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import type { Settings } from './api-server-options.ts';

export interface Handlers {
  readonly watches: WatchHandler;
  readonly resources: ResourceHandler;
  readonly memory: AnswerMemory;
  readonly proxies: TrustedProxies;
  readonly bodies: BodyCodec;
}

/** The handlers of requests for objects, with the parts that they share. */
export function createHandlers(
  settings: Settings,
  parts: { readonly registry: Registry; readonly lister: Lister; readonly revisions: Revisions },
): Handlers {
  const { clock, maxAnswerBytes, trustedProxies } = settings;
  const proxies = new TrustedProxies(trustedProxies);
  const memory = new AnswerMemory(maxAnswerBytes);
  const watches = new WatchHandler({ ...settings, ...parts, proxies });
  const bodies = new BodyCodec(clock);
  const resources = new ResourceHandler({ ...parts, watches, bodies, memory, clock });
  return { watches, resources, memory, proxies, bodies };
}
