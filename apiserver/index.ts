// The public surface of the API server.
export type {
  Admission,
  AdmissionCall,
  AdmissionHooks,
  AdmissionOptions,
  CreateAdmission,
  DeleteAdmission,
  Draft,
  UpdateAdmission,
} from './admission/admission.ts';
export type { AdmissionOwnerOptions, Admissions, OwnedAdmission } from './admission/admission-table.ts';
export type { PluginClient, UncontestedApply } from './client/local-client.ts';
export { ApiServer, startApiServer } from './server/api-server.ts';
export type { ApiServerOptions } from './server/api-server-options.ts';
export { exportDatabase, importDatabase } from './server/database-copy.ts';
export type { ImportDatabaseOptions } from './server/database-copy.ts';
export { ExportFileError } from './backup/export-format.ts';
export type { ExportManifest, ExportSummary } from './backup/export-format.ts';
export { ExportReader } from './backup/export-reader.ts';
export type { ExportedObject } from './backup/export-reader.ts';
export { checkServiceDomain } from './server/service-domain.ts';
export { checkToken } from './http/guards/check-token.ts';
export { checkProxy } from './http/request/trusted-proxies.ts';
export type { DebugPage } from './http/pages/debug-page.ts';
export type { HealthCheck } from './http/pages/health.ts';
export { parseYamlDocuments } from './decode/yaml-body.ts';
export type { YamlDocument } from './decode/yaml-body.ts';
export { readYamlDocuments } from './decode/yaml-documents.ts';
export type { LocatedYamlDocument, YamlMistake } from './decode/yaml-documents.ts';
export { readAuthority } from './tls/read-authority.ts';
export type { TlsOptions } from './tls/tls-options.ts';
export type { Assets } from './assets/asset-table.ts';
export type { Retention } from './registry/history/compactor.ts';
export type { EndpointOwnerOptions } from './endpoints/serving/endpoint-owner.ts';
export type { EndpointRoute } from './endpoints/serving/endpoint-route.ts';
export type { Endpoint, Endpoints, OwnedEndpoints } from './endpoints/serving/endpoint-table.ts';
export type { EndpointRevision } from './endpoints/serving/group-rules.ts';
export { IndexBuildError } from './registry/kinds/open-resource.ts';
export { compileValueSchema } from './schema/value-schema.ts';
export type { JudgedValue, ValueSchema } from './schema/value-schema.ts';
export { OwnedScheme, SchemeManager, serviceOwner } from './registry/kinds/scheme-manager.ts';
export type { IndexCallback, RegisterOptions, Registration } from './registry/kinds/scheme-manager.ts';
