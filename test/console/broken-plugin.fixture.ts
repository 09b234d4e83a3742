import { controller, definePlugin } from 'homeostat';
import type { Plugin } from 'homeostat';
import { Ticket } from './tickets.fixture.ts';

/** What tests change while the plugin runs. */
export interface Faults {
  /** Runs fail, and so do cleanups. */
  isBroken: boolean;
}

/** A controller with a finalizer that fails when it is told to. */
export function brokenPlugin(faults: Faults): Plugin {
  const check = async (): Promise<void> => {
    if (faults.isBroken) throw new Error('the <b>printer</b> is on fire');
  };
  const keeper = controller(Ticket, {
    name: 'keeper',
    reconcile: check,
    cleanup: check,
  });
  return definePlugin({ models: [Ticket], controllers: [keeper] });
}
