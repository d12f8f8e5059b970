"""The evidence m(T) = p(w | T, alpha, eta), and the posterior of the number of topics."""
