import { deepEqual, defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The object with the settings of a plugin; it has the plugin's name. */
export interface SettingsObject extends ApiObject {
  /**
   * The settings that users have set, validated by the schema in the plugin's manifest. Defaults are not stored,
   * because a new version of the plugin may change them.
   */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Returns a violation for each rule of the schema in the plugin's manifest that a spec breaks. */
export type SettingsRule = (plugin: string, spec: SettingsObject['spec']) => readonly FieldViolation[];

const spec = {
  type: 'object',
  description: 'The settings of the plugin with the name of this object. Their schema is in plugin.yaml.',
  'x-kubernetes-preserve-unknown-fields': true,
  default: {},
} as const;

/**
 * Returns the model of `plugin.<serviceDomain>/v1alpha1 PluginSettings`. `rule` checks a spec only when a write changes
 * it.
 */
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
  // The cast is valid, because the interface matches the schema.
  return model as ModelDescriptor<SettingsObject>;
}
