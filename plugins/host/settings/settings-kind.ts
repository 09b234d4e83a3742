import { deepEqual, defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The settings of a plugin as an object; its name is the plugin's. */
export interface SettingsObject extends ApiObject {
  /** The schema in the plugin's manifest, without the defaults, which the plugin may change. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Returns the violations of settings by the schema of the plugin's manifest. */
export type SettingsRule = (plugin: string, spec: SettingsObject['spec']) => readonly FieldViolation[];

const spec = {
  type: 'object',
  description: 'The settings of the plugin of this name, by the schema in its manifest.',
  'x-kubernetes-preserve-unknown-fields': true,
  default: {},
} as const;

/** `plugin.<serviceDomain>/v1alpha1 PluginSettings`. The rule checks new values of a spec, not unchanged ones. */
export function settingsKind(serviceDomain: string, rule: SettingsRule): ModelDescriptor<SettingsObject> {
  const model = defineModel({
    gvk: `plugin.${serviceDomain}/v1alpha1/PluginSettings`,
    plural: 'pluginsettings',
    singular: 'pluginsettings',
    schema: { type: 'object', properties: { spec } },
    validate: (next, previous) => {
      if (previous !== undefined && deepEqual(next.spec, previous.spec)) return [];
      return rule(next.metadata.name, (next as SettingsObject).spec);
    },
  });
  // The interface matches the schema.
  return model as ModelDescriptor<SettingsObject>;
}
