import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

type Names = Pick<ModelDescriptor, 'group' | 'version' | 'kind' | 'schemaName' | 'components'>;

/**
 * Names of the schemas of one group version, unique in any document: `com.example.people.v1alpha1.Person` for the kind,
 * `com.example.people.v1alpha1.PersonSpec` for a component that starts with the kind, and
 * `com.example.people.v1alpha1.Person.Address` for any other, since two models may each have an Address. The names of a
 * model depend only on models whose kind starts like its own.
 */
export class ComponentNames {
  readonly #kinds: readonly string[];

  /** The models of the group version. */
  constructor(models: readonly Names[]) {
    this.#kinds = models.map(({ kind }) => kind);
  }

  /** The name of a model's component. */
  of(model: Names, component: string): string {
    const prefix = prefixOf(model);
    const { kind } = model;
    if (component === model.schemaName) return `${prefix}${kind}`;
    if (this.#ownerOf(component) === kind && component !== kind) return `${prefix}${component}`;
    if (/^[A-Za-z0-9._-]+$/.test(component)) return `${prefix}${kind}.${component}`;
    // `$defs` allows any name; a document does not.
    return `${prefix}${kind}-${Buffer.from(component).toString('hex')}`;
  }

  /** The name of the envelope of a model's lists. */
  ofList(model: Names): string {
    const { kind, components } = model;
    const isTaken = this.#kinds.includes(`${kind}List`) || Object.hasOwn(components, `${kind}List`);
    return `${prefixOf(model)}${kind}${isTaken ? '-List' : 'List'}`;
  }

  /** The names of all schemas of a model. */
  allOf(model: Names): readonly string[] {
    return [...Object.keys(model.components).map((component) => this.of(model, component)), this.ofList(model)];
  }

  /** The longest kind that a component starts with: only one model can have it. */
  #ownerOf(component: string): string | undefined {
    if (!/^[A-Za-z0-9]+$/.test(component)) return undefined;
    const [owner] = this.#kinds.filter((kind) => component.startsWith(kind)).sort((a, b) => b.length - a.length);
    return owner;
  }
}

/** The group's domain reversed, as in Kubernetes' own documents, and the version. */
function prefixOf({ group, version }: Names): string {
  const domain = group === '' ? 'core' : group.split('.').reverse().join('.');
  return `${domain}.${version}.`;
}
