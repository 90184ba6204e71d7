// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'eb3151eec6e4510f2a369e8b22b17f1a9f5257d63ebd95fc9b0c298f732c3274';
