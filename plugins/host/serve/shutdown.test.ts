import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { Shutdown } from './shutdown.ts';

describe('the shutdown of a server', () => {
  let exits: number[];
  let shutdown: Shutdown;

  beforeEach(() => {
    exits = [];
    shutdown = new Shutdown({
      logger: silentLogger,
      exit: (code) => void exits.push(code),
      pluginOf: () => undefined,
      crash: () => undefined,
    });
    shutdown.listen();
  });
  afterEach(() => shutdown.dispose());

  const signal = (): boolean => process.emit('SIGTERM', 'SIGTERM');

  it('is orderly after the first signal, and immediate after the second one', () => {
    signal();
    expect([shutdown.signal.aborted, exits]).to.deep.equal([true, []]);
    signal();
    expect(exits).to.deep.equal([143]);
  });

  it('is still orderly at the first signal after a call of stop, and immediate at the second one', () => {
    shutdown.stop();
    expect(shutdown.signal.aborted).to.equal(true);
    signal();
    expect(exits).to.deep.equal([]);
    signal();
    expect(exits).to.deep.equal([143]);
  });

  it('is immediate at the first signal after a call of fail, which requests an orderly stop with exit code 1', () => {
    shutdown.fail();
    signal();
    expect([shutdown.exitCode, exits]).to.deep.equal([1, [143]]);
  });
});
