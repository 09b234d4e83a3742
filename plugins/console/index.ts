import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { RouterFunction } from '@homeostat/apiserver/endpoints';

/** A page that a plugin adds to the console. The types of panels, columns and buttons are derived from this type. */
export interface ConsoleContribution {
  /** Unique within the plugin, and a part of the page's URL: lowercase letters, digits and hyphens. */
  readonly name: string;
  readonly title: string;
  /**
   * The path of an ES module below the plugin's static files. It exports `mount(element, context)`, which may return a
   * function that is called when the page or panel is closed.
   */
  readonly module: string;
}

/** A panel on the page of each object of a kind. */
export interface ConsolePanel extends ConsoleContribution {
  /** `<plural>.<group>`, such as `persons.people.example.com`. */
  readonly kind: string;
}

/** A column in the list of a kind. */
export interface ConsoleColumn extends Omit<ConsolePanel, 'module'> {
  /** The field that the column shows, such as `spec.size` or `metadata.labels[example.com/team]`. */
  readonly path: string;
}

/**
 * A button on the page of each object of a kind. Its module exports `run(context)`, which may return a text to show.
 */
export interface ConsoleAction extends ConsolePanel {
  /** A verb such as `update`: the button is shown only to users who may do this with the object. Default: `patch`. */
  readonly verb?: string;
}

interface Listed {
  list(): readonly { readonly plugin: string; readonly value: object }[];
}

/** The parts of the host that the plugin uses. */
interface Context {
  readonly extensions: { declare(point: { readonly name: string; readonly schema: object }): Listed };
  readonly endpoints: { add(router: RouterFunction): void };
}

const text = { type: 'string', minLength: 1, maxLength: 200 };
const properties = {
  name: { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' },
  title: text,
  module: { type: 'string', maxLength: 200, pattern: '^[A-Za-z0-9_-][A-Za-z0-9_./-]*\\.js$' },
};
const fieldPath = {
  type: 'string',
  maxLength: 200,
  pattern: '^[A-Za-z_][\\w-]*(\\.[A-Za-z_][\\w-]*|\\[[\\w./-]+\\])*$',
};
const required = ['name', 'title', 'module'];
const page = { type: 'object', required, properties };
const panel = { type: 'object', required: [...required, 'kind'], properties: { ...properties, kind: text } };

const column = {
  type: 'object',
  required: ['name', 'title', 'kind', 'path'],
  properties: { name: properties.name, title: text, kind: text, path: fieldPath },
};
const verb = { type: 'string', pattern: '^[a-z]{1,30}$' };
const action = { type: 'object', required: panel.required, properties: { ...panel.properties, verb } };

/** Serves the contributions of plugins to the console. The console itself is a set of static files. */
const consolePlugin = {
  start({ extensions, endpoints }: Context): void {
    const points = {
      pages: extensions.declare({ name: 'console/pages', schema: page }),
      panels: extensions.declare({ name: 'console/panels', schema: panel }),
      columns: extensions.declare({ name: 'console/columns', schema: column }),
      actions: extensions.declare({ name: 'console/actions', schema: action }),
    };
    const list = (): readonly object[] =>
      Object.entries(points).flatMap(([point, each]) =>
        each.list().map(({ plugin, value }) => ({ ...value, plugin, point })),
      );
    endpoints.add(
      route('api.console.internal/v1')
        .GET('/contributions', () => ServerResponse.ok().json({ items: list() }))
        .build(),
    );
  },
};

export default consolePlugin;
