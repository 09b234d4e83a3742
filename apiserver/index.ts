// The public surface of the API server.
export { ApiServer, startApiServer } from './server/api-server.ts';
export type { ApiServerOptions } from './server/api-server.ts';
export { checkServiceDomain } from './server/service-domain.ts';
export { checkToken } from './http/bearer-token.ts';
export type { DebugPage } from './http/debug-pages.ts';
export type { HealthCheck } from './http/health.ts';
export { parseYamlDocuments } from './decode/yaml-body.ts';
export type { YamlDocument } from './decode/yaml-body.ts';
export { readYamlDocuments } from './decode/yaml-documents.ts';
export type { LocatedYamlDocument, YamlMistake } from './decode/yaml-documents.ts';
export type { Retention } from './registry/compactor.ts';
export type { EndpointOwnerOptions } from './endpoints/endpoint-owner.ts';
export type { EndpointRoute } from './endpoints/endpoint-route.ts';
export type { Endpoint, Endpoints, OwnedEndpoints } from './endpoints/endpoint-table.ts';
export type { EndpointRevision } from './endpoints/group-rules.ts';
export { IndexBuildError } from './registry/open-resource.ts';
export { OwnedScheme, SchemeManager, serviceOwner } from './registry/scheme-manager.ts';
export type { IndexCallback, RegisterOptions, Registration } from './registry/scheme-manager.ts';
