import { apiVersionOf, compareCodePoints } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { EndpointRoute } from '../endpoints/endpoint-route.ts';
import { ComponentNames } from './component-names.ts';
import { endpointFragment } from './endpoint-paths.ts';
import { metaSchemas } from './meta-schemas.ts';
import { modelFragment } from './model-paths.ts';
import type { Fragment, OpenApiDocument } from './open-api.ts';
import { withUniqueIds } from './operation-id.ts';
import { errorResponses } from './responses.ts';

/** What a server has to show. */
export interface ApiSurface {
  readonly models: readonly ModelDescriptor[];
  readonly routes: readonly EndpointRoute[];
}

/** Everything in one document, for tools that read no index. The same surface gives the same document, in whatever order. */
export function wholeDocument(surface: ApiSurface, version: string): OpenApiDocument {
  const fragments = [...groupVersionsOf(surface).values()].map(fragmentOf);
  return documentOf('Homeostat', version, fragments);
}

/** A document for each group version, by the path that the index knows it by: `apis/<group>/<version>`, `api/<version>`. */
export function groupVersionDocuments(surface: ApiSurface, version: string): ReadonlyMap<string, OpenApiDocument> {
  const documents = new Map<string, OpenApiDocument>();
  for (const [path, part] of groupVersionsOf(surface)) {
    documents.set(path, documentOf(`Homeostat ${path}`, version, [fragmentOf(part)]));
  }
  return documents;
}

/** Sorted by path, and within it. */
function groupVersionsOf({ models, routes }: ApiSurface): ReadonlyMap<string, ApiSurface> {
  const paths = [...models.map(pathOfModel), ...routes.map(pathOfRoute)];
  const sorted = [...new Set(paths)].sort(compareCodePoints);
  return new Map(
    sorted.map((path) => [
      path,
      {
        models: models.filter((model) => pathOfModel(model) === path).sort((a, b) => compareCodePoints(a.kind, b.kind)),
        routes: routes
          .filter((route) => pathOfRoute(route) === path)
          .sort((a, b) => compareCodePoints(a.path, b.path) || compareCodePoints(a.method, b.method)),
      },
    ]),
  );
}

function pathOfModel(model: ModelDescriptor): string {
  return `${model.group === '' ? 'api' : 'apis'}/${apiVersionOf(model)}`;
}

/** Endpoints stand at `/apis/<group>/<version>/…`. */
function pathOfRoute({ path }: EndpointRoute): string {
  return path.split('/').slice(1, 4).join('/');
}

function fragmentOf({ models, routes }: ApiSurface): Fragment {
  const names = new ComponentNames(models);
  return joined([...models.map((model) => modelFragment(model, names)), endpointFragment(routes)]);
}

function joined(fragments: readonly Fragment[]): Fragment {
  const tags = new Map(fragments.flatMap((fragment) => fragment.tags.map((tag) => [tag.name, tag])));
  return {
    tags: [...tags.values()],
    paths: Object.assign({}, ...fragments.map(({ paths }) => paths)) as Fragment['paths'],
    schemas: Object.assign({}, ...fragments.map(({ schemas }) => schemas)) as Fragment['schemas'],
  };
}

function documentOf(title: string, version: string, fragments: readonly Fragment[]): OpenApiDocument {
  const { tags, paths, schemas } = joined(fragments);
  return {
    openapi: '3.0.3',
    info: { title, version },
    tags,
    paths: withUniqueIds(paths),
    components: { schemas: { ...schemas, ...metaSchemas }, responses: errorResponses },
  };
}
