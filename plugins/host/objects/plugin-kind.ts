import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, Condition, ModelDescriptor, PrinterColumn } from '@homeostat/controller-runtime/api';
import type { BlockedKind } from '../lifecycle/blocked-deletions.ts';
import type { PluginPhase, PluginWishes } from '../lifecycle/plugin-state.ts';
import type { KindProgress } from '../lifecycle/served-kinds.ts';

/** The fields of a plugin's manifest that its object shows. */
export interface PluginIdentity {
  /** semver. */
  readonly version?: string;
  readonly displayName?: string;
  readonly description?: string;
  /** The revision of the specification for which the plugin is written: `2.15` or `2.9`. */
  readonly revision?: string;
  /** The versions of the host that the plugin accepts, as a semver range. */
  readonly requires?: string;
  /** The domain of the plugin: the groups of its models are this domain or a subdomain of it. */
  readonly group?: string;
  readonly dependencies?: readonly { readonly name: string; readonly range: string; readonly optional: boolean }[];
  /**
   * The JSON Schema of the settings, copied from the manifest so that a client can show a form. Absent for a plugin
   * without settings.
   */
  readonly settingsSchema?: object;
}

/**
 * The spec of a Plugin object. Everything except {@link PluginWishes} comes from the manifest; the host restores it
 * when a client changes it.
 */
export interface PluginSpec extends PluginIdentity, PluginWishes {}

/** Returns the fields of a spec that the user decides. */
export function wishesOf({ enabled, reload }: PluginSpec): PluginWishes {
  return { enabled, ...(reload === undefined ? {} : { reload }) };
}

/** The status of a Plugin object, which the host writes. */
export interface PluginObserved {
  readonly phase: PluginPhase;
  /** One CamelCase word: the reason why the plugin is Failed, or is Stopped although the host runs. */
  readonly reason?: string;
  /** A sentence for users that explains `reason`. */
  readonly message?: string;
  /** The version of the plugin that this status describes. */
  readonly observedVersion?: string;
  /** The kinds whose indexes are being built. */
  readonly indexing?: readonly KindProgress[];
  /**
   * The kinds with objects that are being deleted but still exist, because they have a finalizer of this plugin, and
   * the plugin does not run.
   */
  readonly heldBack?: readonly BlockedKind[];
  readonly conditions?: readonly Condition[];
}

/** The object of a plugin; it has the plugin's name. */
export interface PluginObject extends ApiObject {
  readonly spec: PluginSpec;
  readonly status?: PluginObserved;
}

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;

const dependency = {
  type: 'object',
  required: ['name', 'range'],
  properties: { name: text, range: text, optional: { type: 'boolean' } },
} as const;

const spec = {
  type: 'object',
  // An object without a spec gets an empty one, with the default of `enabled`.
  default: {},
  properties: {
    enabled: { type: 'boolean', default: true, description: 'True when the plugin should run.' },
    reload: { type: 'string', maxLength: 256, description: 'Each change of this text restarts the plugin.' },
    version: text,
    displayName: text,
    description: text,
    revision: text,
    requires: text,
    group: text,
    dependencies: { type: 'array', items: dependency },
    settingsSchema: {
      type: 'object',
      description: 'The JSON Schema of the settings of the plugin.',
      'x-kubernetes-preserve-unknown-fields': true,
    },
  },
} as const;

const phases: readonly PluginPhase[] = ['Created', 'Resolved', 'Starting', 'Started', 'Stopping', 'Stopped', 'Failed'];

const condition = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text,
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: count,
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reason: text,
    message: text,
  },
} as const;

const status = {
  type: 'object',
  properties: {
    phase: { type: 'string', enum: phases },
    reason: text,
    message: text,
    observedVersion: text,
    indexing: {
      type: 'array',
      items: { type: 'object', properties: { apiVersion: text, kind: text, indexed: count } },
    },
    heldBack: {
      type: 'array',
      items: {
        type: 'object',
        properties: { apiVersion: text, kind: text, finalizer: text, count, names: { type: 'array', items: text } },
      },
    },
    conditions: { type: 'array', items: condition },
  },
} as const;

const printerColumns: readonly PrinterColumn[] = [
  { name: 'Version', type: 'string', jsonPath: '.spec.version' },
  { name: 'Enabled', type: 'boolean', jsonPath: '.spec.enabled' },
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
];

/**
 * Returns the model of `plugin.<serviceDomain>/v1alpha1 Plugin`. The status is a subresource, so a PUT of the object
 * does not change the status.
 */
export function pluginKind(serviceDomain: string): ModelDescriptor<PluginObject> {
  const model = defineModel({
    gvk: `plugin.${serviceDomain}/v1alpha1/Plugin`,
    plural: 'plugins',
    singular: 'plugin',
    subresources: ['status'],
    printerColumns,
    schema: { type: 'object', properties: { spec, status } },
    indexes: ['spec.enabled', 'spec.version', 'status.phase'],
  });
  // The cast is valid, because the interface matches the schema.
  return model as ModelDescriptor<PluginObject>;
}
