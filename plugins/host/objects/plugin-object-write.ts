import type { Client } from '@homeostat/controller-runtime';
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { wishesOf } from './plugin-kind.ts';
import type { PluginObject } from './plugin-kind.ts';
import { observedOf } from './plugin-report.ts';
import type { PluginReport } from './plugin-report.ts';

/** Each further attempt means that another client wrote in between. */
const maxAttempts = 8;

export interface PluginObjectWrite {
  readonly client: Client;
  readonly kind: ModelDescriptor<PluginObject>;
  readonly name: string;
  /** `metadata.generation` that the host has processed; undefined before it has seen any. */
  readonly observedGeneration: number | undefined;
}

/**
 * Brings a plugin's object to the state of the report: first its spec, then its status. Writes nothing if they are
 * equal. Creates an absent object, unless the host does not have the plugin. Rejects with the last conflict after
 * eight of them.
 */
export async function writePluginObject(report: PluginReport, write: PluginObjectWrite): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const object = await writeSpec(report, write);
      if (object !== undefined) await writeStatus(report, object, write);
      return;
    } catch (error) {
      const lostRace = isConflict(error) || isAlreadyExists(error) || isNotFound(error);
      if (!lostRace || attempt === maxAttempts) throw error;
    }
  }
}

async function writeSpec(report: PluginReport, write: PluginObjectWrite): Promise<PluginObject | undefined> {
  const { client, kind, name } = write;
  const { identity, enabled } = report;
  const present = await client.get(kind, name).catch(ignoreNotFound);
  if (identity === undefined) return present;
  if (present === undefined) return client.create(kind, { metadata: { name }, spec: { enabled, ...identity } });
  return client.update({ ...present, spec: { ...wishesOf(present.spec), ...identity } });
}

async function writeStatus(report: PluginReport, object: PluginObject, write: PluginObjectWrite): Promise<void> {
  const { observedGeneration = object.metadata.generation } = write;
  await write.client.updateStatus(object, observedOf(report, object.status, observedGeneration));
}
