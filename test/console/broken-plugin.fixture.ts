import { controller, definePlugin } from 'homeostat';
import type { Plugin } from 'homeostat';
import { Ticket } from './tickets.fixture.ts';

/** A switch by which tests make the controller of {@link brokenPlugin} fail, and work again, while the plugin runs. */
export interface Faults {
  /** When true, reconciles and cleanups fail. */
  isBroken: boolean;
}

/**
 * Returns a plugin with one controller. The controller sets a finalizer, and its `reconcile` and `cleanup` throw while
 * `faults.isBroken` is true.
 */
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
