import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { AdmissionHooks } from './admission.ts';
import { callHook } from './call-hook.ts';
import type { HookSubject, MountedHooks } from './call-hook.ts';

describe('callHook', () => {
  const stopping = new AbortController();
  const mounted = (hooks: AdmissionHooks): MountedHooks =>
    ({ plugin: 'people', hooks, timeoutMs: 1000, signal: stopping.signal }) as Partial<MountedHooks> as MountedHooks;

  it('does not call the hook of a plugin that is being stopped, and refuses the write with ServiceUnavailable', async () => {
    stopping.abort();
    const clock = new FakeClock();
    const hooks = mounted({ onCreate: () => expect.fail('called') });
    const subject = {} as Partial<HookSubject> as HookSubject;
    const refused = await callHook(hooks, 'onCreate', { subject, clock }).catch((error: unknown) => error);
    expect(refused).to.include({ reason: 'ServiceUnavailable', message: 'plugin "people" is being stopped' });
    expect(clock.pendingTimers).to.equal(0);
  });
});
