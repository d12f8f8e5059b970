library(stm)
processed <- textProcessor(table$text, metadata = table)
prepared <- prepDocuments(processed$documents, processed$vocab, processed$meta)
model <- stm(prepared$documents, prepared$vocab, K = 5, prevalence = ~ s(date), data = prepared$meta, seed = 0)

labelTopics(model)       # words of the topics
head(model$theta)        # topics of the documents
searchK(prepared$documents, prepared$vocab, K = c(3, 5, 8), data = prepared$meta)
