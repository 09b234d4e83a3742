import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { Authenticator } from './authenticator.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import type { UserInfo } from './user-info.ts';

const ada = { username: 'ada', groups: [] } as unknown as UserInfo;

/**
 * Returns a function that sends a request with a bearer token on one connection, and a function that returns the number
 * of calls of the token authenticator. The calls return the results of `answers`, one after the other.
 */
function connection(answers: readonly (() => ReturnType<TokenAuthenticator['ofToken']>)[]): {
  readonly request: () => ReturnType<Authenticator['ofRequest']>;
  readonly calls: () => number;
} {
  let calls = 0;
  const tokens = [{ ofToken: () => answers[calls++]?.() }];
  const authenticator = new Authenticator({ tokens, audience: 'test' });
  const socket = new Socket();
  const headers = { authorization: 'Bearer secret' };
  const request = (): ReturnType<Authenticator['ofRequest']> =>
    authenticator.ofRequest({ socket, headers } as unknown as IncomingMessage);
  return { request, calls: () => calls };
}

describe('the authenticator of requests, for a token that it has accepted on the connection', () => {
  it('rejects when the lookup of the user fails, so that the request gets the error', async () => {
    const { request, calls } = connection([() => ada, () => Promise.reject(new Error('no response'))]);
    expect(await request()).to.equal(ada);
    const failure = await Promise.resolve(request()).catch(String);
    expect(failure).to.equal('Error: no response');
    expect(calls()).to.equal(2);
  });

  it('calls `ofToken` only once for a request when `ofToken` returns a promise of the user', async () => {
    const { request, calls } = connection([() => ada, () => Promise.resolve(ada)]);
    await request();
    expect(await request()).to.equal(ada);
    expect(calls()).to.equal(2);
  });

  it('asks all authenticators when the one that accepted the token finds no user', async () => {
    const { request, calls } = connection([() => ada, () => Promise.resolve(undefined), () => ada]);
    await request();
    expect(await request()).to.equal(ada);
    expect(calls()).to.equal(3);
  });
});
