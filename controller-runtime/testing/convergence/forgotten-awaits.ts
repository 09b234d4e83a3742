import { formatKey } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import type { ReconcileContext, ReconcileRequest, ReconcileResult } from '../../controller/definition/reconciler.ts';
import type { FaultyRequests } from '../fakes/faulty-requests.ts';
import { describeRequest } from '../fakes/intercepted-client.ts';
import type { ClientRequest } from '../fakes/intercepted-client.ts';

type Run<R extends ReconcileRequest> = (request: R) => ReconcileResult | Promise<ReconcileResult>;
type Method = (...args: readonly unknown[]) => unknown;

const neverSettles = new Promise<never>(() => {});

/**
 * Finds requests that a successful run did not await: writes that are under way at its end, and requests that it makes
 * after its end. The run does not notice when they fail, so nothing retries them. A failed run may leave requests
 * behind (`Promise.all` does), because its key runs again. The promise of a found request never settles: if it
 * rejected, the test runner would report the rejection before the result of the check.
 */
export class ForgottenAwaits {
  readonly #onFound: (problem: string) => void;
  /** The runs that ended while writes were under way, by reconcileID. */
  readonly #left = new Set<string>();

  constructor(onFound: (problem: string) => void) {
    this.#onFound = onFound;
  }

  /**
   * Returns a controller that works like the given one, and reports the mistakes of each successful run: writes that
   * are still under way at the end of the run, and requests that the run sends after its end.
   */
  watching(definition: ControllerDefinition, requests: () => FaultyRequests): ControllerDefinition {
    const { name, reconcile, cleanup } = definition;
    const watched =
      <R extends ReconcileRequest>(run: Run<R>): Run<R> =>
      async (request) => {
        const problem = (what: string): void =>
          this.#onFound(`the run of ${name} "${formatKey(request.key)}" ended before ${what}: is an await missing?`);
        let hasEnded = false;
        const onCall = (method: string): boolean => {
          if (hasEnded) problem(`the run called ${method}`);
          return hasEnded;
        };
        const result = await run(guardedRequest(request, onCall));
        hasEnded = true;
        for (const write of requests().underWay) {
          if (!write.isWrite || write.reconcileID !== request.reconcileID) continue;
          this.#left.add(request.reconcileID);
          problem(`its request "${describeRequest(write)}"`);
        }
        return result;
      };
    return {
      ...definition,
      reconcile:
        typeof reconcile === 'function'
          ? watched(reconcile)
          : { reconcile: watched((request: ReconcileRequest) => reconcile.reconcile(request)) },
      cleanup: cleanup === undefined ? undefined : watched(cleanup),
    };
  }

  /** True when the run that sent this request ended while some of the run's writes were under way. */
  isOver({ reconcileID }: ClientRequest): boolean {
    return reconcileID !== undefined && this.#left.has(reconcileID);
  }
}

const verbs: ReadonlySet<string> = new Set(['ensure', 'once', 'own', 'status'] satisfies (keyof ReconcileContext)[]);
const reads = ['get', 'list'] as const;
const writes = ['create', 'update', 'updateStatus', 'patch', 'apply', 'delete', 'ensure'] as const;
const clientMethods: ReadonlySet<string> = new Set([...reads, ...writes] satisfies (keyof Client)[]);

/**
 * Returns the context of the run with guarded functions and a guarded client: a call never settles when `onCall`
 * returns true for it.
 */
function guardedRequest<R extends ReconcileRequest>(request: R, onCall: (method: string) => boolean): R {
  const client = guarded(request.client, clientMethods, (method) => onCall(`client.${method}`));
  const context = guarded(request, verbs, onCall);
  return new Proxy(context, {
    get: (target, name): unknown => (name === 'client' ? client : Reflect.get(target, name)),
  });
}

function guarded<O extends object>(object: O, methods: ReadonlySet<string>, onCall: (method: string) => boolean): O {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method: Method = (...args) => Reflect.apply(value, target, args);
      const called =
        typeof name === 'string' && methods.has(name)
          ? (...args: readonly unknown[]) => (onCall(name) ? neverSettles : method(...args))
          : method;
      // The guarded function also gets the methods of the original function, such as `condition.summary`.
      return Object.assign(called, value);
    },
  });
}
