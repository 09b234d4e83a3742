// Exports the functions and types of the package that commands need. The API server itself is not among them, because
// a command that loads the code of the server takes a second longer.
export { checkServiceDomain } from '../server/service-domain.ts';
export { checkIssuer } from '../identity/accounts/check-issuer.ts';
export { checkToken } from '../identity/administrator-token.ts';
export { checkProxy } from '../http/request/trusted-proxies.ts';
export { checkAllowedHosts, checkServiceOrigin } from '../webhooks/webhook-places.ts';
export { parseYamlDocuments } from '../decode/yaml-body.ts';
export type { YamlDocument } from '../decode/yaml-body.ts';
export { readYamlDocuments } from '../decode/yaml-documents.ts';
export type { LocatedYamlDocument, YamlMistake } from '../decode/yaml-documents.ts';
export { issueClientCertificate } from '../tls/issue-client-certificate.ts';
export type { ClientCertificateRequest } from '../tls/issue-client-certificate.ts';
export type { ClientRequest, Issued, Validity } from '../tls/issue-certificate.ts';
export { readAuthority } from '../tls/read-authority.ts';
export { userKind } from '../builtin/user-kind.ts';
export type { UserObject } from '../builtin/user-kind.ts';
