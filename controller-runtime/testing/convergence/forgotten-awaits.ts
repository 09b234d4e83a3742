import { formatKey } from '../../api/index.ts';
import type { ControllerDefinition } from '../../controller/controller-definition.ts';
import type { ReconcileRequest, ReconcileResult } from '../../controller/reconciler.ts';
import type { FaultyRequests } from '../faulty-requests.ts';
import { describeRequest } from '../intercepted-client.ts';
import type { ClientRequest } from '../intercepted-client.ts';

type Run<R extends ReconcileRequest> = (request: R) => ReconcileResult | Promise<ReconcileResult>;

/**
 * Finds writes that outlive the run which made them. Such a write goes on beside the next run of the key, and the run
 * succeeds even if it fails. A run that failed may leave writes behind (`Promise.all` does); its key runs again.
 */
export class ForgottenAwaits {
  readonly #onFound: (problem: string) => void;
  /** Runs that are over, by reconcileID: the controller and the key. */
  readonly #over = new Map<string, string>();

  constructor(onFound: (problem: string) => void) {
    this.#onFound = onFound;
  }

  /** The controller, with each run followed by a look at what it left under way. */
  watching(definition: ControllerDefinition, requests: () => FaultyRequests): ControllerDefinition {
    const { name, reconcile, cleanup } = definition;
    const watched =
      <R extends ReconcileRequest>(run: Run<R>, isLast: boolean): Run<R> =>
      async (request) => {
        const { reconcileID } = request;
        const result = await run(request);
        const left = requests().underWay.filter((each) => each.isWrite && each.reconcileID === reconcileID);
        const who = `${name} "${formatKey(request.key)}"`;
        if (isLast || left.length > 0) this.#over.set(reconcileID, who);
        for (const write of left) this.#found(who, write);
        return result;
      };
    return {
      ...definition,
      reconcile:
        typeof reconcile === 'function'
          ? watched(reconcile, true)
          : { reconcile: watched((request: ReconcileRequest) => reconcile.reconcile(request), true) },
      // The run goes on after a cleanup: it takes the finalizer off.
      cleanup: cleanup === undefined ? undefined : watched(cleanup, false),
    };
  }

  /** Whether the run that makes this write has succeeded before. */
  isOver(request: ClientRequest): boolean {
    const run = this.#over.get(request.reconcileID ?? '');
    if (!request.isWrite || run === undefined) return false;
    this.#found(run, request);
    return true;
  }

  #found(run: string, request: ClientRequest): void {
    this.#onFound(`the run of ${run} ended before its request "${describeRequest(request)}": is an await missing?`);
  }
}
