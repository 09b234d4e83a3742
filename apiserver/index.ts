// The public surface of the API server.
export { ApiServer, startApiServer } from './server/api-server.ts';
export type { ApiServerOptions } from './server/api-server.ts';
export type { HealthCheck } from './http/health.ts';
export { parseYamlDocuments } from './decode/yaml-body.ts';
export type { YamlDocument } from './decode/yaml-body.ts';
export type { Retention } from './registry/compactor.ts';
export { IndexBuildError } from './registry/open-resource.ts';
export { OwnedScheme, SchemeManager, serviceOwner } from './registry/scheme-manager.ts';
export type { IndexCallback, RegisterOptions, Registration } from './registry/scheme-manager.ts';
