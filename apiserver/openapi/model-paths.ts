import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { hasStatusPath } from '../builtin/builtin-kinds.ts';
import { isNamespaceKind } from '../builtin/namespace-kind.ts';
import { isReadOnly } from '../builtin/service-kind.ts';
import { isReview } from '../reviews/review-kinds.ts';
import type { Steps } from '../turns/steps.ts';
import { withArticle } from './article.ts';
import type { ComponentNames } from './component-names.ts';
import { exampleBody } from './example-body.ts';
import { meta } from './meta-schemas.ts';
import { modelSchemas } from './model-schemas.ts';
import type {
  Content,
  Fragment,
  OpenApiSchema,
  OpenApiOperation,
  Parameter,
  PathItem,
  RequestBody,
  Response,
} from './open-api.ts';
import { schemaReference } from './open-api.ts';
import { operationId } from './operation-id.ts';
import {
  deleteParameters,
  getParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  selectionParameters,
  writeParameters,
} from './parameters.ts';
import { errorsOf, objectContent } from './responses.ts';

/** Returns the tag of a kind's operations. */
export function tagOfKind(model: GroupVersionKind): string {
  return `${model.kind} (${apiVersionOf(model)})`;
}

/** Returns the part of a document about the generated API of one kind (specification, section 4.1). */
export function* modelFragment(model: ModelDescriptor, names: ComponentNames): Steps<Fragment> {
  const { kind } = model;
  const tag = { name: tagOfKind(model), description: `Objects of the kind ${kind}.` };
  const operations = new ModelOperations(model, { names, tag: tag.name });
  return { tags: [tag], paths: pathsOf(model, operations), schemas: yield* modelSchemas(model, names) };
}

function pathsOf(model: ModelDescriptor, operations: ModelOperations): Fragment['paths'] {
  const root = `/${model.group === '' ? 'api' : 'apis'}/${apiVersionOf(model)}`;
  if (isReview(model)) {
    const [scope, parameters] =
      model.scope === 'Cluster' ? ['', []] : ['/namespaces/{namespace}', [namespaceParameter]];
    return { [`${root}${scope}/${model.plural}`]: { ...withParameters(parameters), post: operations.create() } };
  }
  if (model.scope === 'Cluster') return scopedPaths(`${root}/${model.plural}`, operations, []);
  return {
    [`${root}/${model.plural}`]: { get: operations.list('ForAllNamespaces') },
    ...scopedPaths(`${root}/namespaces/{namespace}/${model.plural}`, operations, [namespaceParameter]),
  };
}

function scopedPaths(
  collection: string,
  operations: ModelOperations,
  parameters: readonly Parameter[],
): Fragment['paths'] {
  const all: PathItem = { ...withParameters(parameters), get: operations.list() };
  const named: PathItem = { parameters: [...parameters, nameParameter] };
  const one = `${collection}/{name}`;
  if (operations.isReadOnly) return { [collection]: all, [one]: { ...named, get: operations.get() } };
  const { hasDeleteCollection, hasStatus, hasScale } = operations;
  return {
    [collection]: {
      ...all,
      post: operations.create(),
      ...(hasDeleteCollection ? { delete: operations.deleteCollection() } : {}),
    },
    [one]: { ...named, ...subresource(operations), delete: operations.delete() },
    ...(hasStatus ? { [`${one}/status`]: { ...named, ...subresource(operations, 'Status') } } : {}),
    ...(hasScale ? { [`${one}/scale`]: { ...named, ...subresource(operations, 'Scale') } } : {}),
  };
}

/** Returns the operations that read, replace and patch an object, or a part of it. */
function subresource(operations: ModelOperations, part?: Part): PathItem {
  return { get: operations.get(part), put: operations.update(part), patch: operations.patch(part) };
}

function withParameters(parameters: readonly Parameter[]): PathItem {
  return parameters.length > 0 ? { parameters } : {};
}

type Part = 'Status' | 'Scale' | '';

const strategicPatch: OpenApiSchema = {
  type: 'object',
  description: 'Treated as a merge patch; a patch with directives such as `$patch` is refused (415).',
};

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/** The parts that differ between the operations of a kind. */
interface Details extends Omit<OpenApiOperation, 'operationId' | 'tags'> {
  readonly action: string;
  /** The end of the operation's id. */
  readonly suffix?: string;
  /** The first word of the operation's id. */
  readonly verb: string;
  /** The kind that the operation reads or writes. By default, it is the path's kind. */
  readonly of?: GroupVersionKind;
}

class ModelOperations {
  readonly #model: ModelDescriptor;
  readonly #tag: string;
  readonly #object: OpenApiSchema;
  readonly #list: OpenApiSchema;
  readonly #example: object | undefined;

  /** False for Namespaces, which do not have deletecollection. */
  get hasDeleteCollection(): boolean {
    return !isNamespaceKind(this.#model);
  }

  get isReadOnly(): boolean {
    return isReadOnly(this.#model);
  }

  get hasStatus(): boolean {
    return hasStatusPath(this.#model);
  }

  get hasScale(): boolean {
    return this.#model.scale !== undefined;
  }

  constructor(model: ModelDescriptor, parts: { readonly names: ComponentNames; readonly tag: string }) {
    const { names, tag } = parts;
    this.#model = model;
    this.#tag = tag;
    this.#object = schemaReference(names.of(model, model.schemaName));
    this.#list = schemaReference(names.ofList(model));
    this.#example = exampleBody(model);
  }

  list(suffix: 'ForAllNamespaces' | '' = ''): OpenApiOperation {
    const content = {
      ...objectContent(this.#list),
      'application/json;stream=watch': { schema: schemaReference(meta.watchEvent) },
      'text/event-stream': { schema: { type: 'string' } },
    };
    const description = 'The objects, or with watch=true a stream of WatchEvents.';
    return this.#operation({
      verb: 'list',
      suffix,
      action: 'list',
      summary: `List or watch objects of kind ${this.#model.kind}`,
      parameters: listParameters(this.#model),
      responses: { '200': { description, content }, ...errorsOf('BadRequest', 'Expired') },
    });
  }

  create(): OpenApiOperation {
    const headers = { Location: { description: 'Path of the object.', schema: { type: 'string' } } };
    return this.#operation({
      verb: 'create',
      action: 'post',
      summary: `Create ${withArticle(this.#model.kind)}`,
      parameters: writeParameters,
      requestBody: this.#body(),
      responses: {
        '201': { description: 'The object as it is stored.', headers, content: objectContent(this.#object) },
        ...errorsOf('BadRequest', 'Conflict', 'Invalid'),
      },
    });
  }

  deleteCollection(): OpenApiOperation {
    return this.#operation({
      verb: 'deleteCollection',
      action: 'deletecollection',
      summary: `Delete the selected objects of kind ${this.#model.kind}`,
      parameters: [...selectionParameters(this.#model), ...deleteParameters],
      requestBody: deleteBody,
      responses: {
        '200': { description: 'The selected objects.', content: objectContent(this.#list) },
        ...errorsOf('BadRequest'),
      },
    });
  }

  get(part: Part = ''): OpenApiOperation {
    return this.#operation({
      verb: 'read',
      suffix: part,
      action: 'get',
      summary: `Read ${this.#subject(part)}`,
      parameters: getParameters,
      responses: { '200': this.#answer(part, 'The object.'), ...errorsOf('NotFound') },
      ...kindOf(part),
    });
  }

  update(part: Part = ''): OpenApiOperation {
    return this.#operation({
      verb: 'replace',
      suffix: part,
      action: 'put',
      summary: `Replace ${this.#subject(part)}`,
      parameters: writeParameters,
      requestBody: this.#body(part),
      ...kindOf(part),
      responses: { '200': this.#answer(part), ...errorsOf('BadRequest', 'NotFound', 'Conflict', 'Invalid') },
    });
  }

  patch(part: Part = ''): OpenApiOperation {
    const content: Content = {
      'application/merge-patch+json': { schema: { type: 'object', description: 'RFC 7396.' }, example: {} },
      'application/json-patch+json': { schema: schemaReference(meta.jsonPatch), example: [] },
      'application/strategic-merge-patch+json': { schema: strategicPatch, example: {} },
      ...(part === 'Scale' ? {} : { 'application/apply-patch+yaml': { schema: this.#schema(part) } }),
    };
    return this.#operation({
      verb: 'patch',
      suffix: part,
      action: 'patch',
      summary: `Change parts of ${this.#subject(part)}`,
      parameters: patchParameters,
      requestBody: { required: true, content },
      ...kindOf(part),
      responses: {
        '200': this.#answer(part),
        ...errorsOf('BadRequest', 'NotFound', 'Conflict', 'UnsupportedMediaType', 'Invalid'),
      },
    });
  }

  delete(): OpenApiOperation {
    const either = { anyOf: [schemaReference(meta.status), this.#object] };
    const description = 'The object if finalizers keep it, otherwise a Status of Success.';
    return this.#operation({
      verb: 'delete',
      action: 'delete',
      summary: `Delete ${this.#subject('')}`,
      parameters: deleteParameters,
      requestBody: deleteBody,
      responses: {
        '200': { description, content: objectContent(either) },
        ...errorsOf('BadRequest', 'NotFound', 'Conflict'),
      },
    });
  }

  #operation({ verb, action, suffix = '', of, ...details }: Details): OpenApiOperation {
    const { group, version, kind, scope } = this.#model;
    const scoped = scope === 'Namespaced' && suffix !== 'ForAllNamespaces' ? 'Namespaced' : '';
    return {
      operationId: operationId(verb, group === '' ? 'core' : group, version, scoped, kind, suffix),
      tags: [this.#tag],
      ...details,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { ...(of ?? { group, version, kind }) },
    };
  }

  #subject(part: Part): string {
    const object = withArticle(this.#model.kind);
    return part === '' ? object : `the ${part.toLowerCase()} of ${object}`;
  }

  #schema(part: Part = ''): OpenApiSchema {
    return part === 'Scale' ? schemaReference(meta.scale) : this.#object;
  }

  #body(part: Part = ''): RequestBody {
    const example = part === 'Scale' ? undefined : this.#example;
    return { required: true, content: objectContent(this.#schema(part), example) };
  }

  #answer(part: Part, description = 'The object as it is stored.'): Response {
    return { description, content: objectContent(this.#schema(part)) };
  }
}

function kindOf(part: Part): Pick<Details, 'of'> {
  return part === 'Scale' ? { of: scaleKind } : {};
}

const deleteBody: RequestBody = {
  content: { 'application/json': { schema: schemaReference(meta.deleteOptions), example: {} } },
};
