import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

/** What is wrong with a domain of the service's own kinds: a DNS subdomain with at least one dot, as groups are. */
export function checkServiceDomain(domain: string): readonly string[] {
  return domain.includes('.') ? checkDnsSubdomain(domain) : ['must have at least one dot'];
}
