import { setCondition } from '@homeostat/controller-runtime/api';
import type { Condition, NewCondition } from '@homeostat/controller-runtime/api';
import type { BlockedKind } from '../lifecycle/blocked-deletions.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import type { PluginIdentity, PluginObserved } from './plugin-kind.ts';
import type { PluginFailure, PluginPhase, PluginWishes } from '../lifecycle/plugin-state.ts';
import type { KindProgress } from '../lifecycle/served-kinds.ts';

/** The host's report about a plugin at one moment. */
export interface PluginReport {
  /** Absent for a plugin that the host does not have. */
  readonly identity?: PluginIdentity;
  /**
   * The first values of `enabled` and `reload` in the spec of the plugin's object, when the host creates it. Users may
   * then change the values in the object, and the host does not overwrite them.
   */
  readonly wishes: PluginWishes;
  readonly phase: PluginPhase;
  /** Absent when the phase needs no reason. */
  readonly reason?: PluginFailure | 'Disabled' | 'NotInstalled';
  readonly message?: string;
  readonly indexing: readonly KindProgress[];
  /** The fields of the plugin's declared objects that other field managers have changed. */
  readonly contested: readonly string[];
  /** The deletions that wait for the plugin's finalizers while it does not run; absent when they are not known. */
  readonly held?: readonly BlockedKind[];
  /** The time of the report, in ms of the clock. */
  readonly atMs: number;
}

/** Returns the spec of a Plugin object, except `enabled` and `reload`. */
export function identityOf(manifest: PluginManifest): PluginIdentity {
  const { version, displayName, description, revision, requires, group, dependencies, settings } = manifest;
  return {
    version,
    revision,
    requires,
    ...(displayName === undefined ? {} : { displayName }),
    ...(description === undefined ? {} : { description }),
    ...(group === undefined ? {} : { group }),
    ...(dependencies.length === 0 ? {} : { dependencies }),
    ...(settings === undefined ? {} : { settingsSchema: settings }),
  };
}

/** The limit of Kubernetes for the message of a condition. */
const maxMessageLength = 32_768;

/** Returns the status for a report. Conditions that have the same status in `present` keep their transition time. */
export function observedOf(
  report: PluginReport,
  present: PluginObserved | undefined,
  observedGeneration: number,
): PluginObserved {
  const { identity, phase, reason, indexing, held = present?.heldBack ?? [] } = report;
  const message = report.message?.slice(0, maxMessageLength);
  const observedVersion = identity === undefined ? present?.observedVersion : identity.version;
  const now = `${new Date(report.atMs).toISOString().slice(0, 19)}Z`;
  const conditions = conditionsOf({ ...report, message }).reduce<readonly Condition[] | undefined>(
    (list, condition) => setCondition(list, { ...condition, observedGeneration }, now),
    present?.conditions,
  );
  return {
    phase,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(observedVersion === undefined ? {} : { observedVersion }),
    ...(indexing.length === 0 ? {} : { indexing }),
    ...(held.length === 0 ? {} : { heldBack: held }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

type Facts = Pick<PluginReport, 'phase' | 'reason' | 'indexing' | 'contested'> & {
  readonly message: string | undefined;
};

function conditionsOf(facts: Facts): readonly NewCondition[] {
  const { phase, reason = phase, message = '' } = facts;
  return [
    { type: 'Ready', status: phase === 'Started' ? 'True' : 'False', reason, message },
    indexesCondition(facts),
    objectsCondition(facts),
  ];
}

function objectsCondition({ phase, contested }: Facts): NewCondition {
  const type = 'ObjectsApplied';
  if (phase !== 'Started') return { type, status: 'Unknown', reason: phase, message: '' };
  if (contested.length === 0) return { type, status: 'True', reason: 'Applied', message: '' };
  return { type, status: 'False', reason: 'FieldConflicts', message: contested.join('; ').slice(0, maxMessageLength) };
}

function indexesCondition({ phase, reason, message = '', indexing }: Facts): NewCondition {
  const type = 'IndexesBuilt';
  if (phase === 'Started') return { type, status: 'True', reason: 'Built', message: '' };
  if (reason === 'IndexBuildFailed') return { type, status: 'False', reason, message };
  if (indexing.length === 0) return { type, status: 'Unknown', reason: phase, message: '' };
  const progress = indexing.map(({ kind, indexed }) => `${kind}: ${indexed} objects indexed so far`).join(', ');
  return { type, status: 'False', reason: 'Building', message: progress };
}
