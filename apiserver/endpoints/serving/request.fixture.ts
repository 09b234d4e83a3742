import { IncomingMessage, ServerResponse as Outgoing } from 'node:http';
import { Socket } from 'node:net';
import { systemClock } from '@homeostat/controller-runtime';
import { BodyCodec } from '../../decode/body-codec.ts';
import type { RequestUser } from '../routes/server-request.ts';
import { HttpRequest } from './http-request.ts';
import { RequestSource } from './request-source.ts';

export interface FakeRequestOptions {
  readonly method?: string;
  readonly path?: string;
  readonly queryString?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns a request source without a connection. */
export function fakeSource(options: FakeRequestOptions = {}): RequestSource {
  const { method = 'GET', path = '/', queryString = '', headers = {} } = options;
  const incoming = new IncomingMessage(new Socket());
  incoming.method = method;
  Object.assign(incoming.headers, headers);
  const bodies = new BodyCodec(systemClock);
  const user = (): RequestUser => ({ username: 'ada', groups: [] });
  return new RequestSource({ incoming, outgoing: new Outgoing(incoming), path, queryString, bodies, user });
}

/** Returns a request without a connection, and so without a body. */
export function fakeRequest(options: FakeRequestOptions = {}): HttpRequest {
  return new HttpRequest(fakeSource(options));
}
