import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

/**
 * Returns the problems of a domain for the service's own kinds. Like a group, it must be a DNS subdomain with at least
 * one dot.
 */
export function checkServiceDomain(domain: string): readonly string[] {
  return domain.includes('.') ? checkDnsSubdomain(domain) : ['must have at least one dot'];
}
