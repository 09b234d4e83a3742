import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { BodyMemory } from './body-memory.ts';

const KiB = 1024;

describe('BodyMemory', () => {
  function request(headers: Readonly<Record<string, string>>): IncomingMessage {
    const made = new IncomingMessage(new Socket());
    Object.assign(made.headers, headers);
    return made;
  }

  const chunked = { 'transfer-encoding': 'chunked' };

  function isRefused(memory: BodyMemory, bytes: number, headers: Readonly<Record<string, string>> = chunked): boolean {
    try {
      memory.hold(request(headers), bytes);
      return false;
    } catch (error) {
      return isApiError(error) && error.reason === 'ServiceUnavailable' && error.retryAfterSeconds === 1;
    }
  }

  it('refuses a body if all bodies together would exceed the limit, until enough memory is released', () => {
    const memory = new BodyMemory(100 * KiB);
    const first = request(chunked);
    memory.hold(first, 60 * KiB);
    expect(isRefused(memory, 60 * KiB)).to.equal(true);
    memory.hold(first, 40 * KiB);
    expect(isRefused(memory, 60 * KiB)).to.equal(false);
    memory.release(first);
    expect(isRefused(memory, 40 * KiB)).to.equal(false);
    expect(isRefused(memory, 20 * KiB)).to.equal(true);
  });

  it('gives one client at most half of the limit', () => {
    const memory = new BodyMemory(100 * KiB);
    const isRefusedTo = (client: string, bytes: number): boolean => {
      const next = request(chunked);
      memory.nameClient(next, client);
      try {
        memory.hold(next, bytes);
        return false;
      } catch (error) {
        expect(error).to.include({ reason: 'ServiceUnavailable', retryAfterSeconds: 1 });
        return true;
      }
    };
    const first = request(chunked);
    memory.nameClient(first, 'a');
    memory.hold(first, 30 * KiB);
    expect(isRefusedTo('a', 30 * KiB)).to.equal(true);
    expect(isRefusedTo('a', 20 * KiB)).to.equal(false);
    expect(isRefusedTo('a', 16 * KiB)).to.equal(true);
    expect(isRefusedTo('b', 30 * KiB)).to.equal(false);
    expect(isRefusedTo('c', 30 * KiB)).to.equal(true);
    memory.release(first);
    expect(isRefusedTo('a', 30 * KiB)).to.equal(false);
  });

  it('does not count a body whose Content-Length is below 16 KiB, unless the body is compressed', () => {
    const memory = new BodyMemory(100 * KiB);
    for (let count = 0; count < 100; count += 1) {
      expect(isRefused(memory, 18 * KiB, { 'content-length': '15000' })).to.equal(false);
    }
    expect(isRefused(memory, 10 * KiB)).to.equal(false);
    expect(isRefused(memory, 90 * KiB, { 'content-length': '100', 'content-encoding': 'gzip' })).to.equal(false);
    expect(isRefused(memory, 20 * KiB)).to.equal(true);
  });
});
