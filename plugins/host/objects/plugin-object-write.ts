import type { Client } from '@homeostat/controller-runtime';
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { wishesOf } from './plugin-kind.ts';
import type { PluginObject } from './plugin-kind.ts';
import { observedOf } from './plugin-report.ts';
import type { PluginReport } from './plugin-report.ts';

/** The maximum number of attempts. An attempt fails when another client writes the object at the same time. */
const maxAttempts = 8;

export interface PluginObjectWrite {
  readonly client: Client;
  readonly kind: ModelDescriptor<PluginObject>;
  readonly name: string;
  /** The last `metadata.generation` that the host has processed; undefined before the first one. */
  readonly observedGeneration: number | undefined;
}

/**
 * Writes a report into the Plugin object: first the spec, then the status. The server stores nothing for a part that is
 * already equal. Creates an absent object, if the host has the plugin. Rejects with the last conflict after eight
 * conflicts.
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
  const { identity, wishes } = report;
  const present = await client.get(kind, name).catch(ignoreNotFound);
  if (identity === undefined) return present;
  if (present === undefined) return client.create(kind, { metadata: { name }, spec: { ...wishes, ...identity } });
  return client.update({ ...present, spec: { ...wishesOf(present.spec), ...identity } });
}

async function writeStatus(report: PluginReport, object: PluginObject, write: PluginObjectWrite): Promise<void> {
  const { observedGeneration = object.metadata.generation } = write;
  await write.client.updateStatus(object, observedOf(report, object.status, observedGeneration));
}
