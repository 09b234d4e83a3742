import { ignoreNotFound } from '@homeostat/controller-runtime/api';
import { compileValueSchema, serviceOwner } from '@homeostat/apiserver';
import type { ApiServer, ValueSchema } from '@homeostat/apiserver';
import { controller, createManager } from '@homeostat/controller-runtime';
import type { Manager } from '@homeostat/controller-runtime';
import type { Clock, FieldCause, FieldViolation, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { PluginManifest } from '../manifest/manifest.ts';
import type { SettingsValues } from '../sdk/plugin-settings.ts';
import { settingsKind } from './settings-kind.ts';
import type { SettingsObject } from './settings-kind.ts';
import { SettingsRun } from './settings-run.ts';

/** Thrown when the stored settings of a plugin break the schema in its manifest. */
class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

export interface SettingsObjectsParts {
  readonly server: Pick<ApiServer, 'schemeManager' | 'client' | 'whenReady'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the object with the settings of a plugin has changed since the last read. Must not throw. */
  readonly onChange: (name: string) => void;
}

/**
 * Values in place of a resourceVersion: `unknownVersion` for settings that are being read for the first time, and
 * `noVersion` for settings that are not stored.
 */
const unknownVersion = 'unknown';
const noVersion = 'none';

/**
 * The objects with the settings of plugins. Validates them by the schemas in the manifests, and passes them to the
 * running plugins. Used once: add, open, follow, close.
 */
export class SettingsObjects {
  readonly #parts: SettingsObjectsParts;
  readonly #kind: ModelDescriptor<SettingsObject>;
  readonly #manager: Manager;
  /** The settings schema of every plugin of the host; undefined for a plugin without settings. */
  readonly #schemas = new Map<string, ValueSchema | undefined>();
  readonly #runs = new Map<string, SettingsRun>();
  /** The resourceVersion of the settings that each plugin read last, by plugin name. */
  readonly #versions = new Map<string, string>();
  readonly #unfollow = new AbortController();
  #isServed = false;
  #followed: Promise<void> | undefined;

  constructor(parts: SettingsObjectsParts) {
    const { server, clock, logger } = parts;
    this.#parts = parts;
    this.#kind = settingsKind(server.schemeManager.serviceDomain, (name, spec) => this.#violations(name, spec));
    const reconcile = async ({ name }: { readonly name: string }): Promise<void> => this.#reconcile(name);
    const definition = controller(this.#kind, { name: 'plugin-settings', reconcile: { reconcile } });
    this.#manager = createManager({ client: server.client, clock, logger, controllers: [definition] });
  }

  /**
   * Adds a plugin. From then on, writes of its settings are checked.
   * @throws Error that names the mistake in the plugin's settings schema.
   */
  add({ name, settings }: PluginManifest): void {
    this.#schemas.set(name, settings === undefined ? undefined : compileValueSchema('spec', settings));
  }

  /** Removes a plugin. From then on, writes of its settings are not checked. */
  remove(name: string): void {
    this.#schemas.delete(name);
    this.#versions.delete(name);
  }

  /** Registers the kind. Never rejects: plugins start without their settings, too. */
  async open(): Promise<void> {
    const { server, logger } = this.#parts;
    try {
      server.schemeManager.register(this.#kind);
      await server.whenReady(this.#kind);
      this.#isServed = true;
    } catch (err) {
      logger.error({ err }, 'the kind PluginSettings could not be served, so plugins get no settings');
    }
  }

  /** Starts to pass changes of settings to the plugins. */
  follow(): void {
    if (this.#isServed && !this.#unfollow.signal.aborted) this.#followed = this.#manager.run(this.#unfollow.signal);
  }

  /** True when every change was passed to its plugin. */
  isIdle(): boolean {
    return this.#followed === undefined || this.#manager.isIdle();
  }

  /** Unregisters the kind. Never rejects. */
  async close(): Promise<void> {
    this.#unfollow.abort();
    await this.#followed;
    if (!this.#isServed) return;
    this.#isServed = false;
    try {
      this.#parts.server.schemeManager.unregister(this.#kind, serviceOwner);
    } catch (err) {
      this.#parts.logger.error({ err }, 'could not unregister the kind PluginSettings');
    }
  }

  /** Returns the settings of a plugin that is about to start. They are empty until the first `refresh`. */
  forRun(name: string, logger: Logger): SettingsRun {
    const run: SettingsRun = new SettingsRun({
      logger,
      read: async () => this.#read(name, logger),
      onClose: () => void (this.#runs.get(name) === run && this.#runs.delete(name)),
    });
    this.#runs.set(name, run);
    return run;
  }

  #violations(name: string, spec: SettingsObject['spec']): readonly FieldViolation[] {
    // `#schemas` has an entry for each installed plugin. The settings of other plugins may exist too, and are accepted
    // without a check.
    if (!this.#schemas.has(name)) return [];
    const schema = this.#schemas.get(name);
    if (schema === undefined) {
      const message = `Forbidden: the plugin "${name}" has no settings`;
      return Object.keys(spec).length === 0 ? [] : [{ field: 'spec', message, reason: 'FieldValueForbidden' }];
    }
    const { unknownFields, causes } = schema.judge(spec);
    const unknown = unknownFields.map((field): FieldViolation => ({
      field,
      message: 'Forbidden: unknown field',
      reason: 'FieldValueForbidden',
    }));
    return [...causes.map(violationOf), ...unknown];
  }

  async #read(name: string, logger: Logger): Promise<SettingsValues> {
    const schema = this.#schemas.get(name);
    if (schema === undefined) return {};
    // The version is set before the read, so that a change during the read is noticed.
    if (!this.#versions.has(name)) this.#versions.set(name, unknownVersion);
    const object = await this.#find(name);
    this.#versions.set(name, versionOf(object));
    const { value, unknownFields, causes } = schema.judge(object?.spec ?? {});
    if (causes.length > 0)
      throw new SettingsError(`PluginSettings "${name}" breaks the schema: ${formatCauses(causes)}`);
    if (unknownFields.length > 0)
      logger.warn({ fields: unknownFields }, 'settings that are not in the schema of the plugin are left out');
    return value as SettingsValues;
  }

  async #reconcile(name: string): Promise<void> {
    const version = versionOf(await this.#find(name));
    const known = this.#versions.get(name) ?? version;
    if (known === version) return;
    try {
      await this.#runs.get(name)?.refresh();
    } catch (err) {
      if (!(err instanceof SettingsError)) throw err;
      this.#parts.logger.error({ err, plugin: name }, 'new settings break the schema; the plugin keeps its settings');
    }
    this.#parts.onChange(name);
  }

  #find(name: string): Promise<SettingsObject | undefined> {
    return this.#parts.server.client.get(this.#kind, name).catch(ignoreNotFound);
  }
}

function versionOf(object: SettingsObject | undefined): string {
  return object?.metadata.resourceVersion ?? noVersion;
}

function violationOf({ field = 'spec', message, reason }: FieldCause): FieldViolation {
  return { field, message, reason };
}

function formatCauses(causes: readonly FieldCause[]): string {
  return causes.map(({ field = 'spec', message }) => `${field}: ${message}`).join('; ');
}
