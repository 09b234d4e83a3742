import {
  apiVersionOf,
  isConfidential,
  silentLogger,
  type ApiObject,
  type Clock,
  type ControllerObject,
  type ControllerReport,
  type Logger,
  type ModelDescriptor,
} from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { containLogger } from '../../client/contain-logger.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { ControllerReporter, type ReportedController, type ReportedShard } from './controller-reporter.ts';
import { RunWriter } from './run-writer.ts';

export interface ReporterOptions {
  /**
   * The client that writes the records. It needs permission for `create` of runs, for `get`, `create` and `update` of
   * controllers, and for `update` of controllers/status.
   */
  readonly client: Client;
  readonly clock: Clock;
  /** The logger. Default: a logger that writes nothing. */
  readonly logger?: Logger;
  /**
   * Returns true for a confidential object: a record of its changes names the changed fields, but has no values.
   * Secrets and external effects are always confidential. Default: no other object is confidential.
   */
  readonly isConfidential?: (object: ApiObject) => boolean;
}

/** A controller, and the process that runs it. */
export interface ReportedPart {
  /**
   * The first part of the controller's name in records. For a controller of a plugin, this part is the name of the
   * plugin.
   */
  readonly name: string;
  readonly definition: ControllerDefinition;
  readonly leader: ControllerReport['leader'];
  readonly mayWrite: () => boolean;
  /** One shard of the controller; absent when the process reconciles all keys. */
  readonly shard?: ReportedShard['shard'];
}

/**
 * Reports the runs and the states of controllers as objects of the kinds Run and Controller. A reporter writes at most
 * 25 runs a second in total, also when several managers share it; after its start and after a time with fewer records,
 * it writes up to 200 at once. When the objects cannot be written, the controllers are not affected.
 */
export class Reporter {
  readonly #parts: { readonly client: Client; readonly clock: Clock; readonly logger: Logger };
  readonly #runs: RunWriter;

  constructor({ client, clock, logger = silentLogger, isConfidential: isSecret }: ReporterOptions) {
    this.#parts = { client, clock, logger: containLogger(logger) };
    this.#runs = new RunWriter({
      ...this.#parts,
      isSecret: (object) => isConfidential(object) || isSecret?.(object) === true,
    });
  }

  /** Starts to report a controller. */
  follow(
    { name, definition, leader, mayWrite, shard }: ReportedPart,
    controller: ReportedController,
  ): ControllerReporter {
    const fullName = `${name}/${definition.name}`;
    const objectName = `${name}.${definition.name}`;
    return new ControllerReporter(
      {
        ...this.#parts,
        definition,
        name: fullName,
        objectName: shard === undefined ? objectName : `${objectName}.${shard.index}`,
        spec: { ...specOf(fullName, definition), ...(shard === undefined ? {} : { shard }) },
        leader,
        mayWrite,
        runs: this.#runs,
      },
      controller,
    );
  }

  /** Writes the records that still wait, for at most five seconds. Call it when the controllers have stopped. */
  close(): Promise<void> {
    return this.#runs.close();
  }
}

/** Makes a reporter, which managers share. Close it after the managers have stopped. */
export function createReporter(options: ReporterOptions): Reporter {
  return new Reporter(options);
}

function specOf(controller: string, definition: ControllerDefinition): ControllerObject['spec'] {
  const { model, owns, watches, cleanup, finalizer, concurrency } = definition;
  return {
    controller,
    reconciles: kindOf(model),
    ...(owns.length === 0 ? {} : { owns: owns.map((each) => kindOf(each.model)) }),
    ...(watches.length === 0 ? {} : { watches: watches.map((each) => kindOf(each.model)) }),
    ...(cleanup === undefined ? {} : { finalizer }),
    concurrency,
  };
}

function kindOf(model: ModelDescriptor): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(model), kind: model.kind };
}
