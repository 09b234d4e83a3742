import type { Condition } from '../object/conditions.ts';
import type { ControllerKey } from './controller-state.ts';
import type { NamedObject } from './recorded-change.ts';
import type { RunResult, RunTrigger } from './run.ts';

/** A finalizer of the object, and the controller that has to remove it. */
export interface ExplainedFinalizer {
  readonly name: string;
  /** The controller that declares the finalizer; absent when no known controller does. */
  readonly controller?: string;
  /** The reason, as a sentence, why the finalizer is still present. */
  readonly message: string;
}

/** A controller of the object's kind, and its state for this object. */
export interface ExplainedController {
  readonly controller: string;
  readonly running: boolean;
  readonly paused: boolean;
  /**
   * The object's key in the controller's queue; absent when the controller has not reported the key, or has reported it
   * as paused.
   */
  readonly key?: ControllerKey;
  /** The newest recorded run for the object; absent when no run is recorded, or when the user may not read runs. */
  readonly lastRun?: {
    /** The name of the Run. */
    readonly name: string;
    readonly startTime: string;
    readonly result: RunResult;
    readonly error?: string;
    readonly triggers: readonly RunTrigger[];
  };
}

export interface ExplainedOwner {
  readonly owner: NamedObject;
  /** True for the owner that manages the object. */
  readonly controller: boolean;
  /** True when the owner exists, false when it does not; absent when the user may not read it. */
  readonly exists?: boolean;
}

/** The explanation of an object's state: the response to `GET …/<name>/explanation`. */
export interface Explanation {
  readonly apiVersion: 'controllers.homeostat.internal/v1alpha1';
  readonly kind: 'Explanation';
  readonly object: NamedObject;
  /**
   * `Deleting`: the object is being deleted, and its finalizers prevent its removal. `Paused`: an annotation pauses at
   * least one of its controllers. `Failing`: a controller fails to reconcile it. `Behind`: its status is about an
   * earlier generation. `Ready`: its condition Ready is True. `NotReady`: its condition Ready is not True.
   * `Reconciled`: it has no condition Ready, and no controller has work for it at the moment. `Unknown`: the state
   * cannot be determined.
   */
  readonly state: 'Deleting' | 'Paused' | 'Failing' | 'Behind' | 'NotReady' | 'Ready' | 'Reconciled' | 'Unknown';
  /** The state in one sentence. */
  readonly summary: string;
  /** Further facts, one sentence each. */
  readonly details: readonly string[];
  readonly generation: number;
  /** The generation that the status is about; absent when the status does not contain it. */
  readonly observedGeneration?: number;
  readonly conditions: readonly Condition[];
  readonly finalizers: readonly ExplainedFinalizer[];
  readonly controllers: readonly ExplainedController[];
  readonly owners: readonly ExplainedOwner[];
}
