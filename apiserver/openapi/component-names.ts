import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

type Names = Pick<ModelDescriptor, 'group' | 'version' | 'kind' | 'schemaName' | 'components'>;

/**
 * Names the schemas of one group version. The names are unique in any document: `com.example.people.v1alpha1.Person`
 * for the kind, `com.example.people.v1alpha1.PersonSpec` for a component whose name starts with the kind, and
 * `com.example.people.v1alpha1.Person.Address` for any other component, since two models may each have an Address. A
 * component name that OpenAPI does not allow is encoded. The names of a model's schemas depend only on the model, and
 * on kinds of the group version whose names begin with the name of the model's kind.
 */
export class ComponentNames {
  readonly #kinds: readonly string[];

  /** Creates an object that names the schemas of a group version. `models` are all models of this group version. */
  constructor(models: readonly Names[]) {
    this.#kinds = models.map(({ kind }) => kind);
  }

  /** Returns the name that the model's schema `component` has in OpenAPI documents. */
  of(model: Names, component: string): string {
    const prefix = prefixOf(model);
    const { kind } = model;
    if (component === model.schemaName) return `${prefix}${kind}`;
    if (this.#ownerOf(component) === kind && component !== kind) return `${prefix}${component}`;
    if (/^[A-Za-z0-9._-]+$/.test(component)) return `${prefix}${kind}.${component}`;
    // `$defs` allows names with any characters, but OpenAPI does not, so a name that OpenAPI refuses is encoded.
    return `${prefix}${kind}-${Buffer.from(component).toString('hex')}`;
  }

  /** Returns the name of the schema for lists of a model. */
  ofList(model: Names): string {
    const { kind, components } = model;
    const isTaken = this.#kinds.includes(`${kind}List`) || Object.hasOwn(components, `${kind}List`);
    return `${prefixOf(model)}${kind}${isTaken ? '-List' : 'List'}`;
  }

  /** Returns the names of all schemas of a model. */
  allOf(model: Names): readonly string[] {
    return [...Object.keys(model.components).map((component) => this.of(model, component)), this.ofList(model)];
  }

  /**
   * Returns the kind with which the schema name `component` starts: Person for PersonSpec. If there are several such
   * kinds, returns the longest one. Only in the model of this kind, the schema keeps the name `PersonSpec`. If the
   * model of another kind, such as Team, also has a schema `PersonSpec`, that schema is named `Team.PersonSpec`, so
   * that the two names differ.
   */
  #ownerOf(component: string): string | undefined {
    if (!/^[A-Za-z0-9]+$/.test(component)) return undefined;
    const [owner] = this.#kinds.filter((kind) => component.startsWith(kind)).sort((a, b) => b.length - a.length);
    return owner;
  }
}

/** Returns the group with its parts in reverse order, as in Kubernetes' own documents, followed by the version. */
function prefixOf({ group, version }: Names): string {
  const domain = group === '' ? 'core' : group.split('.').reverse().join('.');
  return `${domain}.${version}.`;
}
