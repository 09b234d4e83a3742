// The public API of the API server.
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
export type { ResourceAttributes } from './authorization/attributes.ts';
export type { UserInfo } from './identity/user-info.ts';
export type { PluginPermits } from './client/plugin-guard.ts';
export { ApiServer, startApiServer } from './server/api-server.ts';
export type { AuditOptions } from './audit/audit-trail.ts';
export { rotatedFiles } from './audit/log-file.ts';
export type { ApiServerOptions, AuthMode } from './server/api-server-options.ts';
export { exportDatabase, importDatabase } from './server/database-copy.ts';
export { openDatabaseOwner } from './store/open/open-owner.ts';
export type { DatabaseOwner } from './store/open/open-owner.ts';
export type { ExportDatabaseOptions, ImportDatabaseOptions } from './server/database-copy.ts';
export { inspectDatabase } from './inspect/inspect-database.ts';
export type { DatabaseInspection, InspectDatabaseOptions } from './inspect/inspect-database.ts';
export { EncryptionConfigError } from './encryption/encryption-config.ts';
export { ExportFileError } from './backup/export-format.ts';
export type { ExportManifest, ExportSummary } from './backup/export-format.ts';
export { ExportReader } from './backup/export-reader.ts';
export type { ExportedObject } from './backup/export-reader.ts';
export { SettingsFileError } from './settings/fields.ts';
export type { AdministratorFile } from './identity/administrator.ts';
export type { DebugPage } from './http/pages/debug-page.ts';
export type { HealthCheck } from './http/pages/health.ts';
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
