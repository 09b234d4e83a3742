import type { Plugin } from '../sdk/plugin.ts';
import type { PluginRun } from './plugin-run.ts';

export type PluginPhase = 'Created' | 'Resolved' | 'Starting' | 'Started' | 'Stopping' | 'Stopped' | 'Failed';

/** The part of a Plugin object's spec that the user decides. */
export interface PluginWishes {
  /** Default true. */
  readonly enabled: boolean;
  /** Any text. Each time it changes, the host stops the plugin and starts it again from its present files. */
  readonly reload?: string;
}

/** The phase of a plugin, with the values that exist in that phase. */
export type PluginState =
  /** The manifest has been read. */
  | { readonly phase: 'Created' }
  /** The module is loaded; the plugin waits until its dependencies are Started. */
  | { readonly phase: 'Resolved'; readonly plugin: Plugin }
  /** The plugin has kinds, controllers and endpoints. During `Starting`, the host registers and indexes its kinds. */
  | { readonly phase: 'Starting' | 'Started' | 'Stopping'; readonly run: PluginRun }
  | { readonly phase: 'Stopped' }
  | { readonly phase: 'Failed'; readonly failure: PluginFailure; readonly reason: string };

/** The reason of a failure of a plugin, in one word, as in the status of its object. */
export type PluginFailure =
  /**
   * The folder or manifest cannot be read, the name is in use, the group is reserved, the schema of the settings is
   * invalid, or the plugin requires another version of the host.
   */
  | 'Refused'
  /** A plugin on which this one depends is missing, has the wrong version, or depends on this one. */
  | 'DependencyMissing'
  /** A plugin that this one needs is present but not Started. When it is Started, this plugin starts again. */
  | 'DependencyNotStarted'
  | 'LoadFailed'
  /** The stored settings break the schema of the plugin. When they change, the plugin starts again. */
  | 'SettingsInvalid'
  | 'IndexBuildFailed'
  | 'StartFailed'
  | 'StopFailed'
  /** A callback of the plugin threw an uncaught exception. */
  | 'Crashed';

export type PluginEvent = 'resolve' | 'start' | 'started' | 'stop' | 'stopped' | 'fail';

/**
 * The permitted transitions; {@link nextPhase} throws for others. Stopped and Failed are final: a plugin that starts
 * again is a new instance.
 */
const transitions: Readonly<Record<PluginPhase, Readonly<Partial<Record<PluginEvent, PluginPhase>>>>> = {
  Created: { resolve: 'Resolved', stop: 'Stopped', fail: 'Failed' },
  Resolved: { start: 'Starting', stop: 'Stopped', fail: 'Failed' },
  Starting: { started: 'Started', stop: 'Stopping', fail: 'Failed' },
  Started: { stop: 'Stopping', fail: 'Failed' },
  Stopping: { stopped: 'Stopped', fail: 'Failed' },
  Stopped: {},
  Failed: {},
};

/** Returns the phase after an event. Throws when the event cannot happen in the present phase. */
export function nextPhase(phase: PluginPhase, event: PluginEvent): PluginPhase {
  const next = transitions[phase][event];
  if (next === undefined) throw new Error(`a plugin that is ${phase} cannot ${event}`);
  return next;
}
